#pragma once

#include <sched.h>

#include <ctime>
#include <span>

#include "data-server/settings.hpp"
#include "npb/common/communicator.hpp"
#include "program/processors.hpp"

namespace crosscut::data_server {

class Waiter {
 public:
  Waiter(Waiting waiting, std::int64_t pause_microseconds)
      : waiting_(waiting), pause_microseconds_(pause_microseconds) {
    // Where time is simulated, tests may take none: without a pause, time would stand still.
    if (!program::is_simulated() || waiting == Waiting::receive || waiting == Waiting::sleep) return;
    waiting_ = Waiting::sleep;
    pause_microseconds_ = 1;
  }

  // Returns the index of a request that is complete.
  std::size_t for_any(npb::Communicator& world, std::span<MPI_Request> requests) const {
    if (waiting_ == Waiting::receive) return world.wait_any(requests);
    for (;;) {
      if (const auto found = world.test_any(requests)) return *found;
      rest();
    }
  }

  void for_all(npb::Communicator& world, std::span<MPI_Request> requests) const {
    if (waiting_ == Waiting::receive) return world.wait_all(requests);
    while (!world.test_all(requests)) rest();
  }

 private:
  void rest() const {
    if (waiting_ == Waiting::yield) sched_yield();
    if (waiting_ != Waiting::sleep) return;
    timespec pause{};
    pause.tv_nsec = static_cast<long>(pause_microseconds_ * 1000);
    nanosleep(&pause, nullptr);
  }

  Waiting waiting_;
  std::int64_t pause_microseconds_;
};

}  // namespace crosscut::data_server
