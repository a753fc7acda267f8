// Chooses the next block of one message size to measure, and decides when repetition may stop.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "store/store.hpp"

namespace crosscut::conduct {

class BlockPlan {
 public:
  struct Repetition {
    std::int64_t minimum = 6, cap = 20;
    // Relative width that the median's 95 % interval must reach in every phase; 0: repeat up to the cap.
    double interval = 0;
  };
  BlockPlan(const store::Store& store, std::int32_t size_index, std::int64_t phases, std::int64_t ranks,
            Repetition repetition);

  // Returns the next block, or nullopt if everything is measured or precise enough. `phase_seconds`, the
  // wall time of one phase (0: not yet known), limits the size of the block.
  std::optional<store::Block> next(double phase_seconds);
  // Records the results of a block. `with_losses`: a rank was lost, so failed cells are not measured again in
  // this session.
  void remember(const store::BlockData& data, bool with_losses);
  const std::vector<std::int64_t>& repetitions_done() const { return done_; }  // [phase]
  std::int64_t cells_left() const;  // [phase, repetition] cells still to measure, up to the cap

 private:
  std::optional<store::Block> next_by_phase(double phase_seconds);
  std::vector<bool> row(std::int64_t repetition) const;
  std::int64_t repetitions_at_once(std::int64_t from) const;
  void recall(std::int64_t repetition);
  bool precise_enough() const;

  const store::Store& store_;
  std::int32_t size_index_;
  std::int64_t phases_, ranks_;
  Repetition asked_;
  std::int64_t repetition_ = 0;               // the first repetition not known to be done
  std::vector<std::int64_t> done_;            // [phase] repetitions
  std::set<std::int64_t> tried_;              // repetition * phases + phase; tried after a rank was lost
  std::vector<std::vector<double>> slowest_;  // [phase][repetition], seconds; adaptive runs only
};

// Returns the largest value, ignoring NaN (a rank without a message); NaN if all are NaN.
double largest_of(std::span<const double> values);

}  // namespace crosscut::conduct
