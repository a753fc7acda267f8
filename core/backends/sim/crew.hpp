// Computes the phases of a block on all cores. Phases are independent, so any thread may compute any phase.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/sim/phase.hpp"

namespace crosscut::backends::sim {

class SimCrew {
 public:
  SimCrew(const Paths& paths, const SimModel& model, std::size_t workers);

  // Calls `each(phase, simulation)` for every phase of [first, end), from several threads, and now and then
  // `idle` from the calling thread. An exception from either ends the work and is rethrown.
  using Each = std::function<void(std::int64_t phase, PhaseSimulation& simulation)>;
  void run(std::int64_t first, std::int64_t end, const Each& each, const std::function<void()>& idle);

  std::size_t workers() const { return simulations_.size(); }

 private:
  void fail();
  void work(PhaseSimulation& simulation, std::int64_t end, const Each& each);

  std::vector<std::unique_ptr<PhaseSimulation>> simulations_;  // [worker]
  std::atomic<std::int64_t> next_ = 0;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;  // guards failure_
  std::exception_ptr failure_;
};

}  // namespace crosscut::backends::sim
