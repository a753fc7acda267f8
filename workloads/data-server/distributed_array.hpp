// The distributed array, as computing processes access it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data-server/patches.hpp"
#include "data-server/roles.hpp"
#include "data-server/waiting.hpp"
#include "npb/common/communicator.hpp"

namespace crosscut::data_server {

// How often an operation was done, and how long it took.
struct Tally {
  std::int64_t count = 0;
  double seconds = 0, slowest_seconds = 0;

  void add(double taken_seconds) {
    ++count;
    seconds += taken_seconds;
    slowest_seconds = taken_seconds > slowest_seconds ? taken_seconds : slowest_seconds;
  }
};

struct Waits {
  Tally gets{}, additions{};
  Tally others{};  // for task numbers and the fence
};

class Stopwatch {
 public:
  explicit Stopwatch(Tally& tally) : tally_(tally), begin_seconds_(MPI_Wtime()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { tally_.add(MPI_Wtime() - begin_seconds_); }

 private:
  Tally& tally_;
  double begin_seconds_;
};

// Returns the columns of a block that belong to one part of its patch.
template <typename T>
std::span<T> part_of(std::span<T> block, const Patch& patch, const Patch& part) {
  return block.subspan(static_cast<std::size_t>((part.column - patch.column) * patch.rows),
                       static_cast<std::size_t>(part.elements()));
}

class DistributedArray {
 public:
  DistributedArray(Communicator& world, const Roles& roles, const Settings& settings)
      : world_(world),
        roles_(roles),
        distribution_(settings.order, roles.pairs()),
        waiter_(settings.computing_waiting, settings.pause_microseconds) {}

  // Fetches a patch into `block`, column by column.
  void get(const Patch& patch, std::span<double> block) {
    const Stopwatch watch(waits_.gets);
    pending_.clear();
    // Post all receives before any request, and send all requests before waiting for an answer.
    distribution_.for_each_part(patch, [&](int server, const Patch& part) {
      pending_.push_back(
          world_.receive_later(part_of(block, patch, part), roles_.serving_rank(server), answer_tag));
    });
    distribution_.for_each_part(patch, [&](int server, const Patch& part) {
      ask(server, {Request::Kind::get, part});
    });
    waiter_.for_all(world_, pending_);
  }

  void add(const Patch& patch, std::span<const double> block) {
    const Stopwatch watch(waits_.additions);
    pending_.clear();
    distribution_.for_each_part(patch, [&](int server, const Patch& part) {
      ask(server, {Request::Kind::add, part});
      pending_.push_back(
          world_.send_later(part_of(block, patch, part), roles_.serving_rank(server), data_tag));
    });
    waiter_.for_all(world_, pending_);
  }

  std::int64_t next_task() {
    const Stopwatch watch(waits_.others);
    std::array<std::int64_t, 1> answer{};
    std::array pending{world_.receive_later(answer, roles_.serving_rank(0), answer_tag)};
    ask(0, {Request::Kind::next});
    waiter_.for_all(world_, pending);
    return answer[0];
  }

  // Waits until the servers have carried out all requests of this process.
  void fence() {
    const Stopwatch watch(waits_.others);
    std::vector<std::int64_t> answers(static_cast<std::size_t>(distribution_.servers()));
    pending_.clear();
    for (int server = 0; server < distribution_.servers(); ++server) {
      const auto answer = std::span(answers).subspan(static_cast<std::size_t>(server), 1);
      pending_.push_back(world_.receive_later(answer, roles_.serving_rank(server), answer_tag));
      ask(server, {Request::Kind::fence});
    }
    waiter_.for_all(world_, pending_);
  }

  void finish() {
    for (int server = 0; server < distribution_.servers(); ++server) ask(server, {Request::Kind::finish});
  }

  const Waits& waits() const { return waits_; }

 private:
  void ask(int server, const Request& request) {
    world_.send(request.words(), roles_.serving_rank(server), request_tag);
  }

  Communicator& world_;
  Roles roles_;
  Distribution distribution_;
  Waiter waiter_;
  std::vector<MPI_Request> pending_;
  Waits waits_;
};

}  // namespace crosscut::data_server
