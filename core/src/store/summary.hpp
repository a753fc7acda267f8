// Summaries that replace raw samples if there are too many: five exact numbers per cell.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "store/store.hpp"

namespace crosscut::store {

// Summarises samples exactly; reorders them. The median of an even count is the mean of the middle two; p99
// is the smallest sample that at least 99 % of the samples do not exceed (nearest rank). Without samples the
// count is 0 and the rest is NaN.
Summary summarise(std::span<double> samples);

// Summarises one phase over its ranks: message_seconds [rank, slot], rank_seconds and status [rank]. The
// status is the first of unmeasured, failed and skipped that any rank has, or else measured.
PhaseSummary summarise_phase(std::span<const double> message_seconds, std::span<const double> rank_seconds,
                             std::span<const Status> status, std::int64_t moved_bytes);
// Summarises all phases of a block of raw samples. `moved_bytes`: [phase].
std::vector<PhaseSummary> summarise_phases(const BlockData& data, const Shape& shape,
                                           std::span<const std::int64_t> moved_bytes);

// Holds the samples of a few phases until all their repetitions have arrived.
class SummaryBuffer {
 public:
  explicit SummaryBuffer(Shape shape) : shape_(std::move(shape)) {}

  bool empty() const { return blocks_.empty(); }
  // True if a block continues those held: the same phases, the following repetitions.
  bool continues(const Block& block) const;
  bool holds(std::int32_t size_index, std::int64_t phase, std::int64_t repetition) const;
  void add(BlockData data) { blocks_.push_back(std::move(data)); }
  const std::vector<BlockData>& blocks() const { return blocks_; }
  // Returns the phases and all repetitions held, as one block. Must not be called when empty.
  Block extent() const;
  // Summarises one array, of `per_rank` samples a rank, over the repetitions: [phase, rank, sample].
  std::vector<Summary> summarised(std::vector<double> BlockData::*values, std::int64_t per_rank) const;
  void clear() { blocks_.clear(); }

 private:
  Shape shape_;
  std::vector<BlockData> blocks_;
};

}  // namespace crosscut::store
