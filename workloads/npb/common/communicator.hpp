// The MPI calls that the benchmarks make. They are checked and timed only here: communication time is the
// time spent in these calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace crosscut::npb {

// Two doubles, laid out like a complex number of MPI and Fortran. std::complex handles infinities in
// multiplications, at the cost of a function call unless the whole program is compiled without them.
struct Complex {
  double real = 0;
  double imaginary = 0;

  friend Complex operator+(Complex a, Complex b) { return {a.real + b.real, a.imaginary + b.imaginary}; }
  friend Complex operator-(Complex a, Complex b) { return {a.real - b.real, a.imaginary - b.imaginary}; }
  friend Complex operator*(Complex a, Complex b) {
    return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
  }
};

template <typename T>
MPI_Datatype datatype() {
  if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
  if constexpr (std::is_same_v<T, std::int32_t>) return MPI_INT32_T;
  if constexpr (std::is_same_v<T, std::int64_t>) return MPI_INT64_T;
  if constexpr (std::is_same_v<T, std::uint64_t>) return MPI_UINT64_T;
  if constexpr (std::is_same_v<T, Complex>) return MPI_C_DOUBLE_COMPLEX;
}

// Counts and offsets, in elements, for MPI_Alltoallv to send to or receive from each rank.
struct Parcels {
  std::vector<int> counts;
  std::vector<int> offsets;
};

class Communicator {
 public:
  // Returns the communicator of all ranks. MPI must be initialised until the last copy is destroyed.
  static Communicator world();

  // Returns a communicator of the ranks with the same `color`, in this communicator's order.
  Communicator split(int color) const;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Returns this rank's seconds within calls, over all communicators derived from one `world`.
  double seconds() const { return *seconds_; }

  void barrier() { timed("MPI_Barrier", MPI_Barrier, *handle_); }

  template <std::ranges::contiguous_range Range>
  [[nodiscard]] MPI_Request receive_later(Range&& into, int source, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    timed("MPI_Irecv", MPI_Irecv, std::ranges::data(into), count(into), type_of(into), source, tag, *handle_,
          &request);
    return request;
  }

  template <std::ranges::contiguous_range Range>
  void receive(Range&& into, int source, int tag) {
    timed("MPI_Recv", MPI_Recv, std::ranges::data(into), count(into), type_of(into), source, tag, *handle_,
          MPI_STATUS_IGNORE);
  }

  template <std::ranges::contiguous_range Range>
  void send(const Range& from, int destination, int tag) {
    timed("MPI_Send", MPI_Send, std::ranges::data(from), count(from), type_of(from), destination, tag,
          *handle_);
  }

  // `from` must not change until the request has completed.
  template <std::ranges::contiguous_range Range>
  [[nodiscard]] MPI_Request send_later(const Range& from, int destination, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    timed("MPI_Isend", MPI_Isend, std::ranges::data(from), count(from), type_of(from), destination, tag,
          *handle_, &request);
    return request;
  }

  // Sends to one rank while receiving from another; skips either if there is no such rank.
  template <std::ranges::contiguous_range From, std::ranges::contiguous_range To>
  void shift(const From& from, std::optional<int> destination, To&& to, std::optional<int> source, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (source) request = receive_later(to, *source, tag);
    if (destination) send(from, *destination, tag);
    if (source) wait(request);
  }

  void wait_all(std::span<MPI_Request> requests) {
    timed("MPI_Waitall", MPI_Waitall, count(requests), requests.data(), MPI_STATUSES_IGNORE);
  }

  void wait(MPI_Request& request) { timed("MPI_Wait", MPI_Wait, &request, MPI_STATUS_IGNORE); }

  // Waits until one request is complete and returns its index. Ignores MPI_REQUEST_NULL.
  [[nodiscard]] std::size_t wait_any(std::span<MPI_Request> requests) {
    int index = 0;
    timed("MPI_Waitany", MPI_Waitany, count(requests), requests.data(), &index, MPI_STATUS_IGNORE);
    if (index == MPI_UNDEFINED) throw std::logic_error("MPI_Waitany: there was nothing to wait for");
    return static_cast<std::size_t>(index);
  }

  // Like wait_any, without waiting: returns nothing if none is complete.
  [[nodiscard]] std::optional<std::size_t> test_any(std::span<MPI_Request> requests) {
    int index = 0;
    int complete = 0;
    timed("MPI_Testany", MPI_Testany, count(requests), requests.data(), &index, &complete, MPI_STATUS_IGNORE);
    if (complete == 0 || index == MPI_UNDEFINED) return std::nullopt;
    return static_cast<std::size_t>(index);
  }

  // Returns true if all are complete; does not wait.
  [[nodiscard]] bool test_all(std::span<MPI_Request> requests) {
    int complete = 0;
    timed("MPI_Testall", MPI_Testall, count(requests), requests.data(), &complete, MPI_STATUSES_IGNORE);
    return complete != 0;
  }

  template <std::ranges::contiguous_range From, std::ranges::contiguous_range To>
  void all_reduce(const From& from, To&& to, MPI_Op operation) {
    timed("MPI_Allreduce", MPI_Allreduce, std::ranges::data(from), std::ranges::data(to), count(from),
          type_of(from), operation, *handle_);
  }

  template <typename T>
  T all_reduce_value(T value, MPI_Op operation) {
    T result{};
    all_reduce(std::span<const T>(&value, 1), std::span<T>(&result, 1), operation);
    return result;
  }

  template <typename T>
  T sum(T value) {
    return all_reduce_value(value, MPI_SUM);
  }

  template <typename T>
  T most(T value) {
    return all_reduce_value(value, MPI_MAX);
  }

  // Returns the sum at rank 0, a default T elsewhere.
  template <typename T>
  T sum_at_root(T value) {
    T result{};
    timed("MPI_Reduce", MPI_Reduce, &value, &result, 1, datatype<T>(), MPI_SUM, 0, *handle_);
    return result;
  }

  // Returns the values of all ranks, by rank.
  template <typename T>
  std::vector<T> all_gather(T value) {
    std::vector<T> values(static_cast<std::size_t>(size_));
    timed("MPI_Allgather", MPI_Allgather, &value, 1, datatype<T>(), values.data(), 1, datatype<T>(),
          *handle_);
    return values;
  }

  // Part r of `from` goes to rank r; part s of `to` comes from rank s. All parts have the same size.
  template <std::ranges::contiguous_range From, std::ranges::contiguous_range To>
  void all_to_all(const From& from, To&& to) {
    const int each = count(from) / size_;
    timed("MPI_Alltoall", MPI_Alltoall, std::ranges::data(from), each, type_of(from), std::ranges::data(to),
          each, type_of(to), *handle_);
  }

  template <std::ranges::contiguous_range From, std::ranges::contiguous_range To>
  void all_to_all(const From& from, const Parcels& sent, To&& to, const Parcels& received) {
    timed("MPI_Alltoallv", MPI_Alltoallv, std::ranges::data(from), sent.counts.data(), sent.offsets.data(),
          type_of(from), std::ranges::data(to), received.counts.data(), received.offsets.data(), type_of(to),
          *handle_);
  }

  // Returns the values of all ranks at rank 0, by rank; empty elsewhere.
  std::vector<double> gather(double value);

 private:
  Communicator(std::shared_ptr<MPI_Comm> handle, std::shared_ptr<double> seconds);

  template <typename Range>
  static MPI_Datatype type_of(const Range&) {
    return datatype<std::remove_cv_t<std::ranges::range_value_t<Range>>>();
  }

  // Throws std::length_error if there are too many elements: MPI counts in int.
  template <typename Range>
  static int count(const Range& range) {
    const auto elements = std::ranges::size(range);
    if (!std::in_range<int>(elements)) throw std::length_error("a message of more than 2^31 - 1 elements");
    return static_cast<int>(elements);
  }

  template <typename Call, typename... Arguments>
  void timed(const char* name, Call* call, Arguments... arguments) const {
    const double begin = MPI_Wtime();
    check(call(arguments...), name);
    *seconds_ += MPI_Wtime() - begin;
  }

  static void check(int code, const char* name);

  std::shared_ptr<MPI_Comm> handle_;
  int rank_ = 0;
  int size_ = 0;
  std::shared_ptr<double> seconds_;
};

}  // namespace crosscut::npb
