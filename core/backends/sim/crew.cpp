#include "backends/sim/crew.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>

namespace crosscut::backends::sim {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(20);

// Counts those at work; one waits until all have left.
class Presence {
 public:
  explicit Presence(std::size_t count) : count_(count) {}
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) empty_.notify_one();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return empty_.wait_for(lock, between_looks, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  std::size_t count_;
};

}  // namespace

SimCrew::SimCrew(const Paths& paths, const SimModel& model, std::size_t workers) {
  for (std::size_t i = 0; i < std::max<std::size_t>(workers, 1); ++i)
    simulations_.push_back(
        std::make_unique<PhaseSimulation>(paths, model, [this] { return cancelled_.load(); }));
}

void SimCrew::work(PhaseSimulation& simulation, std::int64_t end, const Each& each) {
  try {
    for (auto phase = next_++; phase < end && !cancelled_; phase = next_++) each(phase, simulation);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    cancelled_ = true;
  }
}

void SimCrew::run(std::int64_t first, std::int64_t end, const Each& each, const std::function<void()>& idle) {
  next_ = first;
  cancelled_ = false;
  failure_ = nullptr;
  const auto needed =
      std::min(simulations_.size(), static_cast<std::size_t>(std::max<std::int64_t>(end - first, 0)));
  Presence presence(needed);
  std::exception_ptr interruption;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < needed; ++i) {
      threads.emplace_back([&, i] {
        work(*simulations_[i], end, each);
        presence.leave();
      });
    }
    while (needed > 0 && !presence.wait()) {
      try {
        if (!interruption) idle();
      } catch (...) {
        interruption = std::current_exception();
        cancelled_ = true;
      }
    }
  }
  if (interruption) std::rethrow_exception(interruption);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace crosscut::backends::sim
