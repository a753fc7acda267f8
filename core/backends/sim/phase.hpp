// Simulates one phase of a pattern: operations, routes, times, samples. Each thread has its own, whose memory
// is reused from phase to phase.
#pragma once

#include <optional>

#include "backends/sim/events.hpp"
#include "store/store.hpp"

namespace crosscut::backends::sim {

class PhaseSimulation {
 public:
  PhaseSimulation(const Paths& paths, const SimModel& model, std::function<bool()> cancelled);

  // `index` is the phase's number; only the spread of shares depends on it. `window` is that of its extent.
  void run(const program::Phase& phase, Rank ranks, std::int64_t index = 0, std::int32_t window = 1);
  // Results of the last run.
  const PhaseProgram& program() const { return program_; }
  const SimTimes& times() const { return times_; }
  bool needed_one_solve() const { return one_solve_; }
  // Fills message_seconds [rank, slot] and rank_seconds [rank], as LiveBackend measures them; NaN: no sample.
  void samples(std::int64_t slots, std::span<double> message_seconds, std::span<double> rank_seconds) const;

  // Returns the same samples, summarised.
  store::PhaseSummary summary(std::int64_t slots);

  // For tests, which compare the two methods.
  void use_events_always() { events_always_ = true; }

 private:
  void find_routes();
  std::int64_t most_moved_bytes();
  std::optional<double> common_start() const;
  void solve_once(double start);

  const Paths& paths_;
  SimModel model_;
  std::function<bool()> cancelled_;
  PhaseProgram program_;
  SimRoutes routes_;
  SimTimes times_;
  networks::MaxMin solver_;
  std::vector<double> rates_;
  std::vector<double> message_seconds_, rank_seconds_;  // of `summary`
  std::vector<store::Status> status_;
  std::vector<std::int64_t> sent_, received_;
  std::int32_t window_ = 1;
  std::optional<EventRun> events_;  // made when first needed: it holds marks for every capacity
  bool one_solve_ = false, events_always_ = false;
};

}  // namespace crosscut::backends::sim
