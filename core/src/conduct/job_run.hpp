// Runs one job: divides it into blocks, measures them, and writes the run to disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "conduct/job.hpp"
#include "conduct/session_lines.hpp"
#include "conduct/used_connections.hpp"
#include "program/registry.hpp"
#include "session/rank_group.hpp"
#include "store/store.hpp"

namespace crosscut::conduct {

// Returns the peers and bytes of a phase's samples; `size` is the requested message size.
store::PhaseSamples samples_of(const program::Phase& phase, Rank ranks, std::int64_t slots,
                               std::int64_t size);

class JobRun {
 public:
  // Checks the job against the pattern and the ranks. Throws UsageError.
  JobRun(Job job, session::RankGroup& group, Events& events, std::function<bool()> stop_asked,
         std::string place);
  // Measures the job. If that fails, records the run as "failed" and throws.
  void run();
  // True if no wrong byte was found; meaningful only with `verify`.
  bool all_bytes_right() const { return wrong_total_ == 0; }

 private:
  void open_store(const json::Object& begun);
  store::Store::Options store_options(const json::Object& begun);
  store::Coordinates coordinates();
  store::PhaseSamples samples_of(std::int64_t index) const;
  bool bytes_differ();
  void end_if_stopped();
  std::vector<double> credited_bytes();
  void refuse_bytes_of_their_own() const;
  void measure_size(std::int32_t size_index);
  // What a warm-up shows.
  struct WarmUp {
    std::vector<double> seconds;  // of each phase's slowest rank, [repetition, phase]; fewer if stopped
    // The smallest skew of a phase: that of the barrier itself. Busy cores add to it, and would to a longer
    // sample. 0: unknown.
    double skew_seconds = 0;
  };
  WarmUp warm_up(std::int32_t size_index);
  double shortest_sample_seconds(double skew_seconds) const;
  std::int64_t find_iterations(std::int32_t size_index, const WarmUp& warm);
  void take_rails();
  std::int64_t phases_of(std::int32_t size_index) const;
  session::BlockOutcome run_block(std::int32_t size_index, const store::Block& block,
                                  std::int64_t iterations);
  void keep_summaries_only(std::int32_t size_index, store::BlockData& data) const;
  void report_wrong(const session::BlockOutcome& outcome);
  std::pair<double, double> newest_times(const store::BlockData& data) const;
  void say_progress(std::int32_t size_index, const session::BlockOutcome& outcome, std::int64_t cells_left);
  double seconds_left(std::int32_t size_index, std::int64_t cells_left) const;
  bool should_stop();
  void remember_effort(std::int32_t size_index, const session::BlockOutcome& outcome);
  json::Array effort() const;

  Job job_;
  session::RankGroup& group_;
  Events& events_;
  std::function<bool()> stop_asked_;
  std::string place_;
  const program::PatternInfo& info_;
  const program::BackendInfo& backend_;
  std::unique_ptr<program::Pattern> pattern_;
  store::Shape shape_;
  std::int32_t rails_ = 1;        // in use
  std::int64_t first_phase_ = 0;  // the run's first phase, numbered from 0 within the pattern
  std::unique_ptr<store::Store> store_;

  std::vector<std::size_t> sizes_left_;  // indices of sizes not yet begun, in the order of measuring

  // State of the size being measured.
  std::int64_t iterations_ = 1;
  double phase_seconds_ = 0;  // wall time of a phase including overhead; 0: unknown

  Deadline started_{}, last_progress_{};
  std::int64_t wrong_total_ = 0;
  // Message size in bytes -> [rank]; committed blocks only.
  std::map<std::int64_t, std::vector<measure::Effort>> effort_;
  UsedConnections connections_;
  bool stopped_ = false;
};

}  // namespace crosscut::conduct
