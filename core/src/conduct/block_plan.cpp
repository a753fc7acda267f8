#include "conduct/block_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "conduct/median_interval.hpp"

namespace crosscut::conduct {
namespace {

// Limit on a block's duration, so that a failure loses little, a stop takes effect soon and progress shows.
constexpr double block_seconds = 1.0;

}  // namespace

double largest_of(std::span<const double> values) {
  double most = std::numeric_limits<double>::quiet_NaN();
  for (const auto value : values) most = std::fmax(most, value);
  return most;
}

BlockPlan::BlockPlan(const store::Store& store, std::int32_t size_index, std::int64_t phases,
                     std::int64_t ranks, Repetition repetition)
    : store_(store),
      size_index_(size_index),
      phases_(phases),
      ranks_(ranks),
      asked_(repetition),
      done_(static_cast<std::size_t>(phases)),
      slowest_(static_cast<std::size_t>(phases)) {}

std::int64_t BlockPlan::cells_left() const {
  std::int64_t cells = 0;
  for (const auto count : done_) cells += asked_.cap - count;
  return cells;
}

// Returns how many repetitions, from `from` on, one block may hold. An adaptive run checks the intervals
// after each such block.
std::int64_t BlockPlan::repetitions_at_once(std::int64_t from) const {
  if (asked_.interval <= 0) return asked_.cap - from;
  if (from < asked_.minimum) return std::min(asked_.minimum, asked_.cap) - from;
  return std::min(std::max<std::int64_t>(1, from / 4), asked_.cap - from);
}

// Returns the next block of a run with summaries. Such a run measures all repetitions of a few phases before
// it starts the next phases, with as many repetitions in a block as the time limit allows. It always repeats
// up to the cap and checks no intervals.
std::optional<store::Block> BlockPlan::next_by_phase(double phase_seconds) {
  for (std::int64_t first = 0; first < phases_;) {
    auto block = store_.largest_block(size_index_, 0, first);
    block.phase_end = std::min(block.phase_end, phases_);
    const auto wide = block.phase_end - first;
    const auto done = store_.done(block);
    const auto open = std::find(done.begin(), done.end(), false);
    // A lost rank leaves failed cells, so the store never counts the phases as done. If their last repetition
    // was tried, this session has finished them.
    const bool tried = tried_.contains((block.repetition_end - 1) * phases_ + first);
    if (open != done.end() && !tried) {
      const auto cells = phase_seconds > 0 ? std::clamp(block_seconds / phase_seconds, 1.0, 1e9) : 1.0;
      const auto at_once = std::max<std::int64_t>(1, static_cast<std::int64_t>(cells) / wide);
      block.repetition_first = (open - done.begin()) / wide;
      block.repetition_end = std::min(block.repetition_end, block.repetition_first + at_once);
      return block;
    }
    for (; first < block.phase_end; ++first) done_[static_cast<std::size_t>(first)] = block.repetition_end;
  }
  return std::nullopt;
}

// Returns which phases of a repetition are done, [phase]. Cells that failed after a rank was lost count as
// done, so that this session does not measure them again.
std::vector<bool> BlockPlan::row(std::int64_t repetition) const {
  auto done = store_.done({size_index_, 0, phases_, repetition, repetition + 1});
  for (std::int64_t phase = 0; phase < phases_ && !tried_.empty(); ++phase) {
    if (tried_.contains(repetition * phases_ + phase)) done[static_cast<std::size_t>(phase)] = true;
  }
  return done;
}

std::optional<store::Block> BlockPlan::next(double phase_seconds) {
  if (store_.phase_by_phase()) return next_by_phase(phase_seconds);
  for (; repetition_ < asked_.cap; ++repetition_) {
    const auto done = row(repetition_);
    const auto open = std::find(done.begin(), done.end(), false);
    if (open == done.end()) {
      recall(repetition_);
      if (precise_enough()) return std::nullopt;
      continue;
    }
    const auto first = open - done.begin();
    auto block = store_.largest_block(size_index_, repetition_, first);
    const auto end = std::find(open, done.end(), true) - done.begin();
    block.phase_end = std::min({block.phase_end, end, phases_});
    const auto cells = phase_seconds > 0 ? std::max(1.0, block_seconds / phase_seconds) : 1.0;
    const auto wide = static_cast<double>(block.phase_end - first);
    if (first > 0 || block.phase_end < phases_ || cells < 2 * wide) {
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

// Records that a repetition is done. Reads from the store the times that this process did not measure.
void BlockPlan::recall(std::int64_t repetition) {
  for (auto& count : done_) count = std::max(count, repetition + 1);
  if (asked_.interval <= 0) return;
  const auto lacks = [&](const auto& history) { return std::cmp_less_equal(history.size(), repetition); };
  if (std::none_of(slowest_.begin(), slowest_.end(), lacks)) return;
  const auto seconds = store_.read_rank_seconds({size_index_, 0, phases_, repetition, repetition + 1});
  const auto ranks = seconds.size() / slowest_.size();  // 1 with phase summaries: the slowest rank
  for (std::size_t phase = 0; phase < slowest_.size(); ++phase) {
    auto& history = slowest_[phase];
    if (lacks(history)) {
      history.push_back(largest_of(std::span(seconds).subspan(phase * ranks, ranks)));
    }
  }
}

void BlockPlan::remember(const store::BlockData& data, bool with_losses) {
  const auto& block = data.block;
  const auto ranks = static_cast<std::size_t>(ranks_);
  std::size_t cell = 0;
  for (auto repetition = block.repetition_first; repetition < block.repetition_end; ++repetition) {
    for (auto phase = block.phase_first; phase < block.phase_end; ++phase, ++cell) {
      const auto at = static_cast<std::size_t>(phase);
      done_[at] = std::max(done_[at], repetition + 1);
      if (with_losses) tried_.insert(repetition * phases_ + phase);
      if (asked_.interval <= 0) continue;
      slowest_[at].push_back(data.phases.empty()
                                 ? largest_of(std::span(data.rank_seconds).subspan(cell * ranks, ranks))
                                 : data.phases[cell].ranks.back());
    }
  }
}

bool BlockPlan::precise_enough() const {
  if (asked_.interval <= 0 || repetition_ + 1 < asked_.minimum) return false;
  return std::all_of(slowest_.begin(), slowest_.end(), [&](const auto& seconds) {
    return seconds.empty() || std::isnan(seconds.front()) ||
           relative_interval_width(seconds) <= asked_.interval;
  });
}

}  // namespace crosscut::conduct
