#include "backends/sim/crew.hpp"

#include <algorithm>
#include <chrono>
#include <semaphore>
#include <thread>

namespace crosscut::backends::sim {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(20);

}  // namespace

SimCrew::SimCrew(const Paths& paths, const SimModel& model, std::size_t workers) {
  for (std::size_t i = 0; i < std::max<std::size_t>(workers, 1); ++i)
    simulations_.push_back(
        std::make_unique<PhaseSimulation>(paths, model, [this] { return cancelled_.load(); }));
}

// Keeps only the first failure: later ones may be its consequences.
void SimCrew::fail() {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::current_exception();
  cancelled_ = true;
}

void SimCrew::work(PhaseSimulation& simulation, std::int64_t end, const Each& each) {
  try {
    for (auto phase = next_++; phase < end && !cancelled_; phase = next_++) each(phase, simulation);
  } catch (...) {
    fail();
  }
}

void SimCrew::run(std::int64_t first, std::int64_t end, const Each& each, const std::function<void()>& idle) {
  next_ = first;
  cancelled_ = false;
  failure_ = nullptr;
  const auto needed = std::min(std::ssize(simulations_), std::max<std::int64_t>(end - first, 0));
  std::counting_semaphore<> ended(0);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t i = 0; i < needed; ++i) {
      threads.emplace_back([&, i] {
        work(*simulations_[static_cast<std::size_t>(i)], end, each);
        ended.release();
      });
    }
    for (auto left = needed; left > 0;) {
      if (ended.try_acquire_for(between_looks)) {
        --left;
        continue;
      }
      try {
        if (!cancelled_) idle();
      } catch (...) {
        fail();
      }
    }
  }
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace crosscut::backends::sim
