#include "conduct/job_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/words.hpp"
#include "conduct/block_plan.hpp"
#include "program/moved_bytes.hpp"
#include "store/summary.hpp"

namespace crosscut::conduct {
namespace {

// Largest share of a sample that may be due to the barrier's skew.
constexpr double skew_share = 0.05;
constexpr double warm_up_block_seconds = 1.0;
constexpr double margin = 1.5;  // the skew itself varies
// A phase whose warm-up took more than this multiple of the shortest sample needs no trial, although a first
// exchange is slower than later ones.
constexpr double clearly_enough = 20;
constexpr double shortest_sample = 100e-6;  // seconds
// Shortest sample of a job that computes, in seconds per rank on a core. A unit of work takes microseconds,
// but ranks share a core in time slices of milliseconds, and a sample must span many slices.
constexpr double shortest_sample_beside_computing = 50e-3;
constexpr double periods_in_a_sample = 10;  // of noise
constexpr std::int64_t most_iterations = 1'000'000;
constexpr std::int64_t most_wrong_reported = 100;

// Returns the ranks per core on the most crowded node, at least 1.
double ranks_on_a_core(const session::RankGroup& group) {
  const auto attributes = json::Value(group.attributes());
  const auto* nodes = attributes.find("nodes");
  if (nodes == nullptr || !nodes->is_array()) return 1;
  const auto of_rank = group.nodes();
  double most = 1;
  for (std::size_t i = 0; i < nodes->array().size(); ++i) {
    const auto* cores = nodes->array()[i].find("cores");
    const auto ranks = std::count(of_rank.begin(), of_rank.end(), static_cast<std::int32_t>(i));
    if (cores != nullptr && cores->number() >= 1)
      most = std::max(most, static_cast<double>(ranks) / cores->number());
  }
  return most;
}

constexpr std::int64_t repetitions_for_interval = 100;

// Returns a lower bound for the default repetitions: a requested interval needs many.
std::int64_t least_repetitions(const Job& job) {
  return job.interval > 0 ? std::max(job.minimum_repetitions, repetitions_for_interval) : 1;
}

}  // namespace

JobRun::JobRun(Job job, session::RankGroup& group, Events& events, std::function<bool()> stop_asked,
               std::string place)
    : job_(std::move(job)),
      group_(group),
      events_(events),
      stop_asked_(std::move(stop_asked)),
      place_(std::move(place)),
      info_(program::find_pattern(job_.pattern)),
      backend_(program::find_backend(job_.backend)) {
  if (job_.repetitions == 0) job_.repetitions = std::max(backend_.repetitions, least_repetitions(job_));
  job_.window = window_of(job_);
  take_rails();
  pattern_ = make_pattern(job_);
  const auto ranks = group_.ranks();
  if (ranks < 2) throw UsageError("a pattern needs at least 2 ranks");
  if (const auto why = pattern_->refuse(ranks); !why.empty())
    throw UsageError("pattern " + job_.pattern + ": " + why);
  if (pattern_->default_sizes() == program::no_bytes && std::ranges::any_of(job_.sizes, std::identity{}))
    throw UsageError("pattern " + job_.pattern +
                     ": with these parameters it carries nothing, so leave --size out");
  usable_backend(job_);
  if (job_.verify && !backend_.live) {
    throw UsageError("backend " + job_.backend + " moves no bytes, so there is nothing to verify");
  }
  if (job_.cache != "warm" && !backend_.live)
    throw UsageError("backend " + job_.backend + " moves no bytes, so --cache means nothing there");
  if (!job_.noise.empty() && job_.compute)
    throw UsageError(
        "--noise takes the processor away, but the thread of --compute would work on; leave out "
        "one of the two");
  if (!job_.noise.empty() && backend_.lossy)
    throw UsageError("backend " + job_.backend +
                     " times messages by when they arrive, not by when a rank sees them: leave --noise out");
  if (!job_.noise.empty() && !backend_.live)
    throw UsageError("backend " + job_.backend +
                     " has no processors that noise could take away: leave --noise out");
  if (job_.cache == "cold") job_.iterations = 1;  // only the first would be cold
  if (job_.tolerate_failures && !backend_.tolerates_failure) {
    events_.warn("backend " + job_.backend +
                 " cannot continue without a rank that failed; all ranks will be restarted instead");
  }
  if (job_.sizes.empty()) job_.sizes = pattern_->default_sizes();
  shape_.sizes = job_.sizes;
  shape_.ranks = ranks;
  shape_.repetitions = job_.repetitions;
  std::int64_t phases = 0;
  for (const auto bytes : job_.sizes) {
    const auto extent = pattern_->extent(ranks, bytes);
    if (extent.collectives && job_.window > 1)
      throw UsageError("--library with --window " + std::to_string(job_.window) +
                       ": a library's collective is one operation; leave out one of the two");
    if (extent.collectives && !job_.noise.empty())
      throw UsageError(
          "--library with --noise: noise cannot be injected within a library's call; leave out "
          "one of the two");
    if (extent.collectives && !backend_.collectives)
      throw UsageError("pattern " + job_.pattern + ": backend " + job_.backend +
                       " has no collective operations of its own, which --library asks for; measure with "
                       "--backend mpi, or without --library");
    phases = std::max(phases, extent.phases);
    shape_.slots = std::max<std::int64_t>(shape_.slots, extent.slots);
    rails_ = std::max(rails_, extent.rails);
    const auto needed = extent.send_bytes + extent.receive_bytes;
    const bool takes_memory = backend_.serve == nullptr;
    if (needed < 0 || (takes_memory && needed > job_.memory_bytes)) {
      throw UsageError((job_.window > 1 ? "windows of " + std::to_string(job_.window) + " messages of "
                                        : std::string("messages of ")) +
                       about_bytes(bytes) + " need " + about_bytes(needed) +
                       " for the buffers of a rank, more than the " + about_bytes(job_.memory_bytes) +
                       " of --memory; send less" + (job_.window > 1 ? ", lower --window" : "") +
                       ", or raise it");
    }
  }
  shape_.phases = phases;
  if (job_.phases) {
    const auto [first, last] = *job_.phases;
    if (first < 1 || last < first || last > phases) {
      throw UsageError("phases " + std::to_string(first) + "-" + std::to_string(last) +
                       " were requested, but " + job_.pattern + " on " + std::to_string(ranks) +
                       " ranks has phases 1-" + std::to_string(phases));
    }
    first_phase_ = first - 1;
    shape_.phases = last - first + 1;
  }
  refuse_bytes_of_their_own();
}

// Finds how many rails "all" are, and leaves them to a pattern that has a use of its own for them.
void JobRun::take_rails() {
  if (job_.rails != 1 && !backend_.rails)
    throw UsageError("--rails: backend " + job_.backend +
                     " leaves the choice of interfaces to its library; leave out --rails");
  if (job_.rails == 0) job_.rails = group_.rails();
  if (info_.has_rails() && job_.rails > 1)
    job_.pattern_parameters.insert_or_assign("rails", std::to_string(std::exchange(job_.rails, 1)));
}

std::int64_t JobRun::phases_of(std::int32_t size_index) const {
  const auto extent = pattern_->extent(group_.ranks(), shape_.sizes[static_cast<std::size_t>(size_index)]);
  return std::clamp<std::int64_t>(extent.phases - first_phase_, 0, shape_.phases);
}

session::BlockOutcome JobRun::run_block(std::int32_t size_index, const store::Block& block,
                                        std::int64_t iterations) {
  auto shifted = block;
  shifted.phase_first += first_phase_;
  shifted.phase_end += first_phase_;
  const auto before = std::chrono::steady_clock::now();
  const session::BlockRequest request{
      .bytes = shape_.sizes[static_cast<std::size_t>(size_index)],
      .block = shifted,
      .iterations = iterations,
      // The warm-up (repetition -1) stays raw: its times determine the iterations.
      .summarise = store_->kept() == store::Kept::phase_summaries && block.repetition_first >= 0};
  auto outcome = group_.run(request);
  outcome.data.block = block;
  if (request.summarise && outcome.data.phases.empty()) keep_summaries_only(size_index, outcome.data);
  // A simulator knows no skew, but may continue a run that has some, by force.
  outcome.data.skew_seconds.resize(static_cast<std::size_t>(block.cells()),
                                   std::numeric_limits<double>::quiet_NaN());
  phase_seconds_ = seconds_since(before) / static_cast<double>(block.cells());
  report_wrong(outcome);
  connections_.add(outcome.connections);
  return outcome;
}

void JobRun::keep_summaries_only(std::int32_t size_index, store::BlockData& data) const {
  const auto bytes = shape_.sizes[static_cast<std::size_t>(size_index)];
  std::vector<std::int64_t> moved;
  for (auto phase = data.block.phase_first; phase < data.block.phase_end; ++phase)
    moved.push_back(program::most_moved_bytes(*pattern_->phase(group_.ranks(), bytes, first_phase_ + phase),
                                              group_.ranks()));
  store::BlockData kept;
  kept.block = data.block;
  kept.skew_seconds = data.skew_seconds;
  kept.phases = store::summarise_phases(data, shape_, moved);
  data = std::move(kept);
}

// Runs all phases without recording them.
JobRun::WarmUp JobRun::warm_up(std::int32_t size_index) {
  WarmUp found;
  const auto phases = phases_of(size_index);
  const auto repetitions = group_.real_time() ? job_.warm_up : 0;
  phase_seconds_ = 0;
  for (std::int64_t repetition = 0; repetition < repetitions; ++repetition) {
    std::int64_t step = 1;
    for (std::int64_t phase = 0; phase < phases && !should_stop(); phase += step) {
      if (phase_seconds_ > 0)
        step = std::max<std::int64_t>(1, std::llround(warm_up_block_seconds / phase_seconds_));
      step = std::min(step, phases - phase);
      // Number the repetition -1, so that its verified bytes differ from those of every measured repetition.
      const auto outcome = run_block(size_index, {size_index, phase, phase + step, -1, 0}, 1);
      const auto ranks = static_cast<std::size_t>(shape_.ranks);
      for (std::size_t i = 0; i < static_cast<std::size_t>(step); ++i) {
        found.seconds.push_back(static_cast<double>(job_.window) *
                                largest_of(std::span(outcome.data.rank_seconds).subspan(i * ranks, ranks)));
        const auto skew = outcome.data.skew_seconds[i];
        if (skew >= 0 && (found.skew_seconds == 0 || skew < found.skew_seconds)) found.skew_seconds = skew;
      }
    }
  }
  return found;
}

// Returns the shortest sample, in seconds, of which this skew is only a small share.
double JobRun::shortest_sample_seconds(double skew_seconds) const {
  auto seconds = job_.compute ? shortest_sample_beside_computing * ranks_on_a_core(group_) : shortest_sample;
  seconds = std::max(seconds, periods_in_a_sample * measure::Noise(job_.noise, 0, 0).period_seconds());
  return std::max(seconds, margin * skew_seconds / skew_share);
}

// Derives the iterations from the warm-up. Then corrects them by a trial with that many iterations: one run
// of a phase takes longer than each of many in a row.
std::int64_t JobRun::find_iterations(std::int32_t size_index, const WarmUp& warm) {
  if (job_.iterations > 0) return job_.iterations;
  const auto extent = pattern_->extent(group_.ranks(), shape_.sizes[static_cast<std::size_t>(size_index)]);
  std::vector<std::pair<double, std::int64_t>> times;
  for (std::size_t i = 0; i < warm.seconds.size(); ++i) {
    if (warm.seconds[i] > 0)
      times.emplace_back(warm.seconds[i], static_cast<std::int64_t>(i) % phases_of(size_index));
  }
  if (!extent.iterable || !group_.real_time() || times.empty()) return 1;
  std::sort(times.begin(), times.end());
  const auto [typical, phase] = times[times.size() / 2];
  const auto wanted = shortest_sample_seconds(warm.skew_seconds);
  const auto needed = [&](double seconds) {
    return std::clamp<std::int64_t>(std::llround(std::ceil(wanted / seconds)), 1, most_iterations);
  };
  if (typical > clearly_enough * wanted) return 1;
  const auto first = needed(typical);
  const auto trial = run_block(size_index, {size_index, phase, phase + 1, -1, 0}, first);
  const auto seconds = static_cast<double>(job_.window) * largest_of(trial.data.rank_seconds);
  return seconds > 0 ? needed(seconds) : first;
}

bool JobRun::should_stop() {
  if (!stopped_ && stop_asked_()) stopped_ = true;
  if (!stopped_ && job_.time_limit_seconds > 0 && seconds_since(started_) > job_.time_limit_seconds) {
    events_.warn("the time limit is reached; --resume measures the rest");
    stopped_ = true;
  }
  return stopped_;
}

void JobRun::measure_size(std::int32_t size_index) {
  const BlockPlan::Repetition repetition{job_.minimum_repetitions, shape_.repetitions, job_.interval};
  BlockPlan plan(*store_, size_index, phases_of(size_index), shape_.ranks, repetition);
  iterations_ = store_->iterations(size_index);
  phase_seconds_ = 0;
  if (!plan.next(0)) {  // nothing left; an earlier session may have been killed before it recorded this
    store_->set_repetitions_done(size_index, plan.repetitions_done());
    return;
  }
  const auto warm = warm_up(size_index);
  if (should_stop()) return;
  if (iterations_ == 0) {
    iterations_ = find_iterations(size_index, warm);
    store_->set_iterations(size_index, iterations_);
  }
  while (const auto block = plan.next(phase_seconds_)) {
    if (should_stop()) break;  // checked only while cells are missing: a complete run is not "stopped"
    const auto outcome = run_block(size_index, *block, iterations_);
    store_->commit(outcome.data);
    remember_effort(size_index, outcome);
    plan.remember(outcome.data, !group_.lost().empty());
    say_progress(size_index, outcome, plan.cells_left());
  }
  store_->set_repetitions_done(size_index, plan.repetitions_done());
}

// Estimates the time left, in seconds. A sample of a later size takes as long as one of this size (iterations
// fill it) or as long as its bytes take at this size's rate, whichever is longer. To find that rate, a size
// below 64 KiB counts as 64 KiB, since its time reflects latency rather than bandwidth.
double JobRun::seconds_left(std::int32_t size_index, std::int64_t cells_left) const {
  const auto here = static_cast<double>(shape_.sizes[static_cast<std::size_t>(size_index)]);
  const auto seconds_per_byte = phase_seconds_ / static_cast<double>(iterations_) / std::max(here, 65536.0);
  double seconds = phase_seconds_ * static_cast<double>(cells_left);
  for (const auto later : sizes_left_) {
    const auto message = seconds_per_byte * static_cast<double>(shape_.sizes[later]);
    const auto sample = std::max(phase_seconds_, message);
    const auto warm = static_cast<double>(group_.real_time() ? job_.warm_up : 0) * std::min(sample, message);
    const auto phases = static_cast<double>(phases_of(static_cast<std::int32_t>(later)));
    seconds += phases * (sample * static_cast<double>(shape_.repetitions) + warm);
  }
  return seconds;
}

// Returns the times, in seconds, of the slowest message and the slowest rank in the block's last phase.
std::pair<double, double> JobRun::newest_times(const store::BlockData& data) const {
  if (!data.phases.empty()) return {data.phases.back().messages.back(), data.phases.back().ranks.back()};
  const auto ranks = static_cast<std::size_t>(shape_.ranks);
  const auto messages = data.message_seconds.size() / (data.rank_seconds.size() / ranks);
  return {largest_of(std::span(data.message_seconds).last(messages)),
          largest_of(std::span(data.rank_seconds).last(ranks))};
}

void JobRun::say_progress(std::int32_t size_index, const session::BlockOutcome& outcome,
                          std::int64_t cells_left) {
  if (seconds_since(last_progress_) < 0.1) return;
  last_progress_ = std::chrono::steady_clock::now();
  const auto& data = outcome.data;
  const auto bytes = shape_.sizes[static_cast<std::size_t>(size_index)];
  const auto [slowest, phase_seconds] = newest_times(data);
  const auto elapsed = seconds_since(started_);
  const auto left = seconds_left(size_index, cells_left);
  events_.progress(json::Object{{"event", "progress"},
                                {"size", bytes},
                                {"size_index", size_index},
                                {"phase", first_phase_ + data.block.phase_end},
                                {"phases", shape_.phases},
                                {"repetition", data.block.repetition_end},
                                {"repetitions", shape_.repetitions},
                                {"done", elapsed / (elapsed + left)},
                                {"phase_seconds", phase_seconds},
                                {"rate", static_cast<double>(bytes) / slowest},
                                {"elapsed", elapsed},
                                {"eta", left}});
}

void JobRun::report_wrong(const session::BlockOutcome& outcome) {
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

void JobRun::run() {
  started_ = std::chrono::steady_clock::now();
  const auto begun = group_.begin(job_);
  open_store(begun);
  sizes_left_ = drawn_order(shape_.sizes.size(), job_.order_seed, [&](std::size_t index) {
    return static_cast<std::uint64_t>(shape_.sizes[index]);
  });
  json::Array sizes;
  for (const auto index : sizes_left_) sizes.emplace_back(shape_.sizes[index]);
  events_.say(json::Object{{"event", "started"},
                           {"out", job_.out},
                           {"pattern", job_.pattern},
                           {"sizes", sizes},
                           {"phases", shape_.phases},
                           {"repetitions", shape_.repetitions}});
  try {
    while (!sizes_left_.empty() && !should_stop()) {
      const auto index = sizes_left_.front();
      sizes_left_.erase(sizes_left_.begin());
      measure_size(static_cast<std::int32_t>(index));
    }
    auto ended = group_.end();
    if (!group_.lost().empty()) ended.emplace_back("failed_ranks", session::to_json(group_.lost()));
    if (!effort_.empty()) ended.emplace_back("effort", effort());
    if (auto used = connections_.after(store_->attributes()); !used.is_null())
      ended.emplace_back("connections", std::move(used));
    if (job_.verify) ended.emplace_back("verify", json::Object{{"wrong_messages", wrong_total_}});
    const std::string state = stopped_ ? "stopped" : "complete";
    store_->finish(state, ended);
    events_.say(json::Object{
        {"event", "finished"}, {"out", job_.out}, {"state", state}, {"elapsed", seconds_since(started_)}});
  } catch (const std::exception& error) {
    try {
      json::Object ended{{"failed_ranks", session::to_json(group_.lost())}, {"error", error.what()}};
      if (auto used = connections_.after(store_->attributes()); !used.is_null())
        ended.emplace_back("connections", std::move(used));
      store_->finish("failed", ended);
    } catch (const RunError&) {  // the disk is full: all measurements are safe, and the first error says more
    }
    throw;
  }
}

}  // namespace crosscut::conduct
