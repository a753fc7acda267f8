// MPI's two-sided calls on a communicator, with the requests in progress. Works with any MPI, SimGrid's too.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <climits>
#include <vector>

#include "backends/mpi/check.hpp"
#include "program/program.hpp"

namespace crosscut::backends::mpi {

inline int count_of(std::int64_t bytes) {
  if (bytes > INT_MAX) throw UsageError("MPI's two-sided calls take messages of at most 2147483647 bytes");
  return static_cast<int>(bytes);
}

// Returns the tag, a different one for each channel and rail.
inline int tag_of(const program::Op& op) { return op.channel + 256 * op.rail; }

class TwoSided {
 public:
  explicit TwoSided(MPI_Comm comm) : comm_(comm) {}

  // Runs an operation from start to end.
  void execute(const program::Op& op, std::byte* data) {
    const int bytes = count_of(op.bytes);
    if (op.kind == program::Op::Kind::send) {
      check(MPI_Send(data, bytes, MPI_BYTE, op.peer, tag_of(op), comm_), "MPI_Send");
    } else {
      check(MPI_Recv(data, bytes, MPI_BYTE, op.peer, tag_of(op), comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    }
  }

  void start(const program::Op& op, program::OpIndex index, std::byte* data) {
    const int bytes = count_of(op.bytes);
    auto& request = requests_.emplace_back();
    indices_.push_back(index);
    if (op.kind == program::Op::Kind::send) {
      check(MPI_Isend(data, bytes, MPI_BYTE, op.peer, tag_of(op), comm_, &request), "MPI_Isend");
    } else {
      check(MPI_Irecv(data, bytes, MPI_BYTE, op.peer, tag_of(op), comm_, &request), "MPI_Irecv");
    }
  }

  bool under_way() const { return !requests_.empty(); }

  // Waits, then appends the index of at least one completed operation. `yielding` gives up the processor
  // between attempts, as other ranks may need it.
  void wait(std::vector<program::OpIndex>& completed, bool yielding) {
    done_.resize(requests_.size());
    int count = 0;
    const auto size = static_cast<int>(requests_.size());
    if (yielding) {
      while (true) {
        check(MPI_Testsome(size, requests_.data(), &count, done_.data(), MPI_STATUSES_IGNORE),
              "MPI_Testsome");
        if (count > 0) break;
        ::sched_yield();
      }
    } else {
      check(MPI_Waitsome(size, requests_.data(), &count, done_.data(), MPI_STATUSES_IGNORE), "MPI_Waitsome");
    }
    for (int i = 0; i < count; ++i)
      completed.push_back(indices_[static_cast<std::size_t>(done_[static_cast<std::size_t>(i)])]);
    forget_finished();
  }

 private:
  void forget_finished() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i];
      indices_[kept++] = indices_[i];
    }
    requests_.resize(kept);
    indices_.resize(kept);
  }

  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
  std::vector<program::OpIndex> indices_;  // [request]
  std::vector<int> done_;
};

}  // namespace crosscut::backends::mpi
