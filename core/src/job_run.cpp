#include "job_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "error.hpp"
#include "median_interval.hpp"

namespace crosscut {
namespace {

// A block is so long at most, so that little is lost, a stop is soon obeyed, and progress is seen.
constexpr double block_seconds = 1.0;
// Share of a sample that the skew of the barrier may be.
constexpr double skew_share = 0.05;
constexpr double shortest_sample_seconds = 100e-6;
constexpr std::int64_t most_iterations = 1'000'000;
constexpr std::int64_t most_wrong_reported = 100;

double seconds_since(Deadline start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double largest(std::span<const double> values) {
  double most = std::numeric_limits<double>::quiet_NaN();
  for (const auto value : values) most = std::fmax(most, value);
  return most;
}

}  // namespace

JobRun::JobRun(Job job, Ensemble& ensemble, Events& events, std::function<bool()> stop_asked,
               std::string place)
    : job_(std::move(job)),
      ensemble_(ensemble),
      events_(events),
      stop_asked_(std::move(stop_asked)),
      place_(std::move(place)),
      info_(find_pattern(job_.pattern)),
      backend_(find_backend(job_.backend)),
      pattern_(info_.make(Parameters(info_.parameters, job_.pattern_parameters, "pattern " + job_.pattern))) {
  const auto ranks = ensemble_.ranks();
  if (ranks < 2) throw UsageError("a pattern needs at least 2 ranks");
  if (const auto why = pattern_->refuse(ranks); !why.empty())
    throw UsageError("pattern " + job_.pattern + ": " + why);
  if (!backend_.unavailable.empty()) {
    throw UsageError("backend " + job_.backend + " is not available: " + std::string(backend_.unavailable));
  }
  if (job_.verify && !backend_.live) {
    throw UsageError("backend " + job_.backend + " moves no bytes, so there is nothing to verify");
  }
  if (job_.tolerate_failures && !backend_.tolerates_failure) {
    events_.warn("backend " + job_.backend + " cannot go on without a failed rank in the same session");
  }
  if (job_.sizes.empty()) job_.sizes = pattern_->default_sizes();
  shape_.sizes = job_.sizes;
  shape_.ranks = ranks;
  shape_.repetitions = job_.repetitions;
  std::int64_t phases = 0;
  for (const auto bytes : job_.sizes) {
    const auto extent = pattern_->extent(ranks, bytes);
    phases = std::max(phases, extent.phases);
    shape_.slots = std::max<std::int64_t>(shape_.slots, extent.slots);
    const auto needed = extent.send_bytes + extent.receive_bytes;
    if (needed < 0 || needed > job_.memory_bytes) {
      throw UsageError("messages of " + std::to_string(bytes) + " bytes need buffers of " +
                       std::to_string(needed) + " bytes on a rank, more than --memory allows (" +
                       std::to_string(job_.memory_bytes) + ")");
    }
  }
  shape_.phases = phases;
  if (job_.phases) {
    const auto [first, last] = *job_.phases;
    if (first < 1 || last < first || last > phases) {
      throw UsageError("phases " + std::to_string(first) + "-" + std::to_string(last) +
                       " are asked for, but " + job_.pattern + " on " + std::to_string(ranks) +
                       " ranks has phases 1-" + std::to_string(phases));
    }
    first_phase_ = first - 1;
    shape_.phases = last - first + 1;
  }
}

std::int64_t JobRun::phases_of(std::int32_t size_index) const {
  const auto extent = pattern_->extent(ensemble_.ranks(), shape_.sizes[static_cast<std::size_t>(size_index)]);
  return std::clamp<std::int64_t>(extent.phases - first_phase_, 0, shape_.phases);
}

BlockOutcome JobRun::run_block(std::int32_t size_index, const Block& block, std::int64_t iterations) {
  auto shifted = block;
  shifted.phase_first += first_phase_;
  shifted.phase_end += first_phase_;
  const auto before = std::chrono::steady_clock::now();
  auto outcome = ensemble_.run({shape_.sizes[static_cast<std::size_t>(size_index)], shifted, iterations});
  outcome.data.block = block;
  const auto cells = (block.phase_end - block.phase_first) * (block.repetition_end - block.repetition_first);
  phase_seconds_ = seconds_since(before) / static_cast<double>(cells);
  report_wrong(outcome);
  return outcome;
}

// Runs all phases and keeps nothing; seconds of the slowest rank, [phase].
std::vector<double> JobRun::warm_up(std::int32_t size_index) {
  std::vector<double> seconds;
  const auto phases = phases_of(size_index);
  const auto repetitions = ensemble_.real_time() ? job_.warm_up : 0;
  phase_seconds_ = 0;
  for (std::int64_t repetition = 0; repetition < repetitions; ++repetition) {
    std::int64_t step = 1;
    for (std::int64_t phase = 0; phase < phases && !should_stop(); phase += step) {
      if (phase_seconds_ > 0) step = std::max<std::int64_t>(1, std::llround(block_seconds / phase_seconds_));
      step = std::min(step, phases - phase);
      // Repetition -1: what is verified differs from all that is measured.
      const auto outcome = run_block(size_index, {size_index, phase, phase + step, -1, 0}, 1);
      const auto ranks = static_cast<std::size_t>(shape_.ranks);
      for (std::size_t i = 0; i < static_cast<std::size_t>(step); ++i) {
        seconds.push_back(largest(std::span(outcome.data.rank_seconds).subspan(i * ranks, ranks)));
      }
    }
  }
  return seconds;
}

// So many that the skew with which ranks leave the barrier is a small share of a sample.
std::int64_t JobRun::find_iterations(std::int32_t size_index, std::vector<double> phase_seconds) const {
  if (job_.iterations > 0) return job_.iterations;
  const auto extent = pattern_->extent(ensemble_.ranks(), shape_.sizes[static_cast<std::size_t>(size_index)]);
  std::erase_if(phase_seconds, [](double seconds) { return !(seconds > 0); });
  if (!extent.iterable || !ensemble_.real_time() || phase_seconds.empty()) return 1;
  std::sort(phase_seconds.begin(), phase_seconds.end());
  const auto typical = phase_seconds[phase_seconds.size() / 2];
  auto wanted = shortest_sample_seconds;
  const auto attributes = ensemble_.attributes();
  for (const auto& [key, value] : attributes) {
    if (key != "sync" || job_.sync != "barrier") continue;
    if (const auto* skew = value.find("skew_median_seconds"))
      wanted = std::max(wanted, skew->number() / skew_share);
  }
  return std::clamp<std::int64_t>(std::llround(std::ceil(wanted / typical)), 1, most_iterations);
}

bool JobRun::should_stop() {
  if (!stopped_ && stop_asked_()) stopped_ = true;
  if (!stopped_ && job_.time_limit_seconds > 0 && seconds_since(started_) > job_.time_limit_seconds) {
    events_.warn("the time limit is reached; --resume measures what is missing");
    stopped_ = true;
  }
  return stopped_;
}

// Repetitions that may go into one block: with adaptive repetition only up to the next look at the intervals.
std::int64_t JobRun::repetitions_at_once(std::int64_t from) const {
  if (job_.interval <= 0) return shape_.repetitions - from;
  if (from < job_.minimum_repetitions) return std::min(job_.minimum_repetitions, shape_.repetitions) - from;
  return std::min(std::max<std::int64_t>(1, from / 4), shape_.repetitions - from);
}

std::optional<Block> JobRun::next_block(std::int32_t size_index) {
  const auto phases = phases_of(size_index);
  const auto row = [&](std::int64_t repetition) {
    return store_->done({size_index, 0, phases, repetition, repetition + 1});
  };
  for (; repetition_ < shape_.repetitions; ++repetition_) {
    const auto done = row(repetition_);
    const auto open = std::find(done.begin(), done.end(), false);
    if (open == done.end()) {
      recall(size_index, repetition_, done);
      if (precise_enough()) return std::nullopt;
      continue;
    }
    const auto first = open - done.begin();
    auto block = store_->largest_block(size_index, repetition_, first);
    const auto end = std::find(open, done.end(), true) - done.begin();
    block.phase_end = std::min({block.phase_end, end, phases});
    const auto cells = phase_seconds_ > 0 ? std::max(1.0, block_seconds / phase_seconds_) : 1.0;
    const auto wide = static_cast<double>(block.phase_end - first);
    if (first > 0 || block.phase_end < phases || cells < 2 * wide) {
      block.repetition_end = repetition_ + 1;
      if (cells < wide) block.phase_end = first + static_cast<std::int64_t>(cells);
      return block;
    }
    auto most = std::min<std::int64_t>(block.repetition_end - repetition_, repetitions_at_once(repetition_));
    most = std::min(most, static_cast<std::int64_t>(cells / wide));
    block.repetition_end = repetition_ + 1;
    while (block.repetition_end < repetition_ + most) {
      const auto next = row(block.repetition_end);
      if (std::find(next.begin(), next.end(), true) != next.end()) break;
      ++block.repetition_end;
    }
    return block;
  }
  return std::nullopt;
}

// A repetition found done: what this process measured is remembered already, what an earlier one did is read
// back.
void JobRun::recall(std::int32_t size_index, std::int64_t repetition, const std::vector<bool>& done) {
  const auto phases = static_cast<std::int64_t>(done.size());
  if (phases == 0 || done_[0] > repetition) return;
  for (auto& count : done_) count = std::max(count, repetition + 1);
  if (job_.interval <= 0) return;
  const auto seconds = store_->read_rank_seconds({size_index, 0, phases, repetition, repetition + 1});
  const auto ranks = static_cast<std::size_t>(shape_.ranks);
  for (std::size_t phase = 0; phase < done.size(); ++phase) {
    auto& history = slowest_[phase];
    if (history.size() <= static_cast<std::size_t>(repetition)) {
      history.push_back(largest(std::span(seconds).subspan(phase * ranks, ranks)));
    }
  }
}

void JobRun::remember(const BlockOutcome& outcome) {
  const auto& block = outcome.data.block;
  const auto ranks = static_cast<std::size_t>(shape_.ranks);
  std::size_t cell = 0;
  for (auto repetition = block.repetition_first; repetition < block.repetition_end; ++repetition) {
    for (auto phase = block.phase_first; phase < block.phase_end; ++phase, ++cell) {
      const auto at = static_cast<std::size_t>(phase);
      done_[at] = std::max(done_[at], repetition + 1);
      if (job_.interval > 0) {
        slowest_[at].push_back(largest(std::span(outcome.data.rank_seconds).subspan(cell * ranks, ranks)));
      }
    }
  }
}

bool JobRun::precise_enough() const {
  if (job_.interval <= 0 || repetition_ + 1 < job_.minimum_repetitions) return false;
  return std::all_of(slowest_.begin(), slowest_.end(), [&](const auto& seconds) {
    return seconds.empty() || std::isnan(seconds.front()) ||
           relative_interval_width(seconds) <= job_.interval;
  });
}

void JobRun::measure_size(std::int32_t size_index) {
  const auto phases = phases_of(size_index);
  repetition_ = 0;
  done_.assign(static_cast<std::size_t>(phases), 0);
  slowest_.assign(static_cast<std::size_t>(phases), {});
  iterations_ = store_->iterations(size_index);
  if (phases == 0 || !next_block(size_index)) return;
  const auto seconds = warm_up(size_index);
  if (should_stop()) return;
  if (iterations_ == 0) {
    iterations_ = find_iterations(size_index, seconds);
    store_->set_iterations(size_index, iterations_);
    phase_seconds_ *= static_cast<double>(iterations_);
  }
  while (!should_stop()) {
    const auto block = next_block(size_index);
    if (!block) break;
    const auto outcome = run_block(size_index, *block, iterations_);
    store_->commit(outcome.data);
    remember(outcome);
    say_progress(size_index, outcome);
  }
  store_->set_repetitions_done(size_index, done_);
  costs_.emplace_back(static_cast<double>(shape_.sizes[static_cast<std::size_t>(size_index)]),
                      phase_seconds_);
}

// Sizes still to come are estimated on a line through the last two measured (time = start-up + bytes / rate).
double JobRun::seconds_left(std::int32_t size_index) const {
  const auto at = static_cast<std::size_t>(size_index);
  const auto all = static_cast<double>(shape_.repetitions);
  const auto here = static_cast<double>(shape_.sizes[at]);
  double slope = phase_seconds_ / std::max(here, 65536.0);
  if (!costs_.empty() && costs_.back().first < here) {
    slope = std::max(0.0, (phase_seconds_ - costs_.back().second) / (here - costs_.back().first));
  }
  std::int64_t cells = 0;
  for (const auto count : done_) cells += shape_.repetitions - count;
  double seconds = phase_seconds_ * static_cast<double>(cells);
  for (std::size_t later = at + 1; later < shape_.sizes.size(); ++later) {
    const auto more = std::max(0.0, static_cast<double>(shape_.sizes[later]) - here);
    const auto cost = phase_seconds_ + slope * more;
    const auto warm = static_cast<double>(ensemble_.real_time() ? job_.warm_up : 0);
    seconds += cost * (all + warm) * static_cast<double>(phases_of(static_cast<std::int32_t>(later)));
  }
  return seconds;
}

void JobRun::say_progress(std::int32_t size_index, const BlockOutcome& outcome) {
  if (seconds_since(last_progress_) < 0.1) return;
  last_progress_ = std::chrono::steady_clock::now();
  const auto& data = outcome.data;
  const auto bytes = shape_.sizes[static_cast<std::size_t>(size_index)];
  const auto phase_cells = static_cast<std::size_t>(shape_.ranks);
  const auto newest = std::span(data.rank_seconds).last(phase_cells);
  const auto messages = std::span(data.message_seconds)
                            .last(data.message_seconds.size() / (data.rank_seconds.size() / phase_cells));
  const auto elapsed = seconds_since(started_);
  const auto left = seconds_left(size_index);
  const auto slowest = largest(messages);
  events_.say(json::Object{{"event", "progress"},
                           {"size", bytes},
                           {"size_index", size_index},
                           {"phase", first_phase_ + data.block.phase_end},
                           {"phases", shape_.phases},
                           {"repetition", data.block.repetition_end},
                           {"repetitions", shape_.repetitions},
                           {"done", elapsed / (elapsed + left)},
                           {"phase_seconds", largest(newest)},
                           {"rate", static_cast<double>(bytes) / slowest},
                           {"elapsed", elapsed},
                           {"eta", left}});
}

void JobRun::report_wrong(const BlockOutcome& outcome) {
  for (const auto& wrong : outcome.wrong) {
    if (++wrong_total_ > most_wrong_reported) continue;
    events_.say(json::Object{{"event", "verify-failed"},
                             {"source", wrong.source},
                             {"destination", wrong.destination},
                             {"phase", wrong.phase + 1},
                             {"size", wrong.bytes},
                             {"offset", wrong.offset},
                             {"expected", static_cast<int>(wrong.expected)},
                             {"found", static_cast<int>(wrong.found)}});
  }
  wrong_total_ += outcome.wrong_count - static_cast<std::int64_t>(outcome.wrong.size());
}

std::string JobRun::run() {
  started_ = std::chrono::steady_clock::now();
  const auto begun = ensemble_.begin(job_);
  open_store(begun);
  events_.say(json::Object{{"event", "started"},
                           {"out", job_.out},
                           {"pattern", job_.pattern},
                           {"sizes", json::Array(shape_.sizes.begin(), shape_.sizes.end())},
                           {"phases", shape_.phases},
                           {"repetitions", shape_.repetitions}});
  try {
    for (std::size_t i = 0; i < shape_.sizes.size() && !should_stop(); ++i)
      measure_size(static_cast<std::int32_t>(i));
    auto ended = ensemble_.end();
    json::Array failed;
    for (const auto& one : ensemble_.lost()) {
      failed.emplace_back(json::Object{{"rank", one.rank}, {"node", one.node}, {"reason", one.reason}});
    }
    if (!failed.empty()) ended.emplace_back("failed_ranks", std::move(failed));
    if (job_.verify) ended.emplace_back("verify", json::Object{{"wrong_messages", wrong_total_}});
    const std::string state = stopped_ ? "stopped" : "complete";
    store_->finish(state, ended);
    events_.say(json::Object{
        {"event", "finished"}, {"out", job_.out}, {"state", state}, {"elapsed", seconds_since(started_)}});
    return state;
  } catch (const std::exception& error) {
    json::Array failed;
    for (const auto& one : ensemble_.lost()) {
      failed.emplace_back(json::Object{{"rank", one.rank}, {"node", one.node}, {"reason", one.reason}});
    }
    try {
      store_->finish("failed", {{"failed_ranks", std::move(failed)}, {"error", error.what()}});
    } catch (const RunError&) {  // the disk is full: what was measured is safe, and the first error says more
    }
    throw;
  }
}

}  // namespace crosscut
