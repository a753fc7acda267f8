#include "summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace crosscut {

Summary summarise(std::span<double> samples) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (samples.empty()) return {0, none, none, none, none};
  std::ranges::sort(samples);
  const std::size_t n = samples.size();
  const double median = (samples[(n - 1) / 2] + samples[n / 2]) / 2;
  const std::size_t p99 = (99 * n + 99) / 100 - 1;  // ceil(0.99 n), in integers: 0.99 is not a double
  return {static_cast<double>(n), samples.front(), median, samples[p99], samples.back()};
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

void SummaryBuffer::add(BlockData data) { blocks_.push_back(std::move(data)); }

Block SummaryBuffer::extent() const {
  Block all = blocks_.front().block;
  all.repetition_end = blocks_.back().block.repetition_end;
  return all;
}

std::vector<Summary> SummaryBuffer::messages() const {
  return summarise_all(&BlockData::message_seconds, shape_.slots);
}

std::vector<Summary> SummaryBuffer::ranks() const { return summarise_all(&BlockData::rank_seconds, 1); }

std::vector<Summary> SummaryBuffer::summarise_all(std::vector<double> BlockData::*values,
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

}  // namespace crosscut
