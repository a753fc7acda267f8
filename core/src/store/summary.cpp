#include "store/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace crosscut::store {
namespace {

struct Counted {
  double value = 0;
  std::size_t count = 0;
};

// ceil(0.99 n) - 1, in integers because no double equals 0.99.
std::size_t index_of_p99(std::size_t n) { return (99 * n + 99) / 100 - 1; }

Summary summarise_counted(std::span<Counted> distinct, std::size_t n) {
  std::ranges::sort(distinct, {}, &Counted::value);
  const auto at = [&](std::size_t index) {
    std::size_t i = 0;
    for (; index >= distinct[i].count; ++i) index -= distinct[i].count;
    return distinct[i].value;
  };
  const double median = (at((n - 1) / 2) + at(n / 2)) / 2;
  return {static_cast<double>(n), distinct.front().value, median, at(index_of_p99(n)), distinct.back().value};
}

// Summarises samples with at most 16 distinct values, as in many simulated phases: counting them is ten times
// as fast as ordering. Returns nullopt if there are more.
std::optional<Summary> summarise_few_values(std::span<const double> samples) {
  std::array<Counted, 16> distinct;
  std::size_t known = 0, last = 0;
  for (const double sample : samples) {
    if (last >= known || distinct[last].value != sample) {
      for (last = 0; last < known && distinct[last].value != sample; ++last) {
      }
      if (last == distinct.size()) return std::nullopt;
      if (last == known) distinct[known++] = {sample, 0};
    }
    ++distinct[last].count;
  }
  return summarise_counted(std::span(distinct).first(known), samples.size());
}

Status phase_status(std::span<const Status> ranks) {
  for (const Status worst : {Status::unmeasured, Status::failed, Status::skipped})
    if (std::ranges::find(ranks, worst) != ranks.end()) return worst;
  return Status::measured;
}

}  // namespace

Summary summarise(std::span<double> samples) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (samples.empty()) return {0, none, none, none, none};
  if (const auto counted = summarise_few_values(samples)) return *counted;
  const std::size_t n = samples.size();
  const auto at = [&](std::size_t index) { return samples.begin() + static_cast<std::ptrdiff_t>(index); };
  // Each step reorders only the samples from the previous step's index on.
  std::ranges::nth_element(samples, at((n - 1) / 2));
  const double least = *std::min_element(samples.begin(), at((n - 1) / 2) + 1);
  const double below = samples[(n - 1) / 2];
  std::nth_element(at((n - 1) / 2), at(n / 2), samples.end());
  const double median = (below + samples[n / 2]) / 2;
  std::nth_element(at(n / 2), at(index_of_p99(n)), samples.end());
  const double p99 = samples[index_of_p99(n)];
  return {static_cast<double>(n), least, median, p99, *std::max_element(at(index_of_p99(n)), samples.end())};
}

PhaseSummary summarise_phase(std::span<const double> message_seconds, std::span<const double> rank_seconds,
                             std::span<const Status> status, std::int64_t moved_bytes) {
  thread_local std::vector<double> samples;  // kept between calls, since a phase may have many messages
  const auto of_ranks = [&](std::span<const double> seconds) {
    samples.clear();
    const std::size_t each = seconds.size() / status.size();
    for (std::size_t i = 0; i < seconds.size(); ++i)
      if (status[i / each] == Status::measured && !std::isnan(seconds[i])) samples.push_back(seconds[i]);
    return summarise(samples);
  };
  return {of_ranks(message_seconds), of_ranks(rank_seconds), moved_bytes, phase_status(status)};
}

std::vector<PhaseSummary> summarise_phases(const BlockData& data, const Shape& shape,
                                           std::span<const std::int64_t> moved_bytes) {
  const auto ranks = static_cast<std::size_t>(shape.ranks), slots = static_cast<std::size_t>(shape.slots);
  std::vector<PhaseSummary> phases;
  for (std::size_t cell = 0; cell * ranks < data.status.size(); ++cell)
    phases.push_back(summarise_phase(
        std::span(data.message_seconds).subspan(cell * ranks * slots, ranks * slots),
        std::span(data.rank_seconds).subspan(cell * ranks, ranks),
        std::span(data.status).subspan(cell * ranks, ranks), moved_bytes[cell % moved_bytes.size()]));
  return phases;
}

bool SummaryBuffer::continues(const Block& block) const {
  if (empty()) return false;
  const Block held = extent();
  return held.size_index == block.size_index && held.phase_first == block.phase_first &&
         held.phase_end == block.phase_end && held.repetition_end == block.repetition_first;
}

bool SummaryBuffer::holds(std::int32_t size_index, std::int64_t phase, std::int64_t repetition) const {
  if (empty()) return false;
  const Block held = extent();
  return held.size_index == size_index && held.phase_first <= phase && phase < held.phase_end &&
         held.repetition_first <= repetition && repetition < held.repetition_end;
}

Block SummaryBuffer::extent() const {
  Block all = blocks_.front().block;
  all.repetition_end = blocks_.back().block.repetition_end;
  return all;
}

std::vector<Summary> SummaryBuffer::summarised(std::vector<double> BlockData::*values,
                                               std::int64_t per_rank) const {
  const Block all = extent();
  const std::int64_t cells = (all.phase_end - all.phase_first) * shape_.ranks;
  std::vector<Summary> result;
  std::vector<double> samples;
  for (std::int64_t i = 0; i < cells * per_rank; ++i) {
    samples.clear();
    for (const BlockData& data : blocks_)
      for (std::int64_t r = 0; r < data.block.repetition_end - data.block.repetition_first; ++r) {
        const Status status = data.status[static_cast<std::size_t>(r * cells + i / per_rank)];
        const double sample = (data.*values)[static_cast<std::size_t>(r * cells * per_rank + i)];
        if (status == Status::measured && !std::isnan(sample)) samples.push_back(sample);
      }
    result.push_back(summarise(samples));
  }
  return result;
}

}  // namespace crosscut::store
