// Which blocks of one message size are still to be measured, and in which order; when repetition may stop.
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
    double interval =
        0;  // relative width of the median's 95 % interval asked for in every phase; 0: up to the cap
  };
  BlockPlan(const store::Store& store, std::int32_t size_index, std::int64_t phases, std::int64_t ranks,
            Repetition repetition);

  // The next block; nothing when all is measured, or precise enough. `phase_seconds` is the wall time of one
  // phase as far as known (0: not yet), by which a block is kept short.
  std::optional<store::Block> next(double phase_seconds);
  // What a block brought. `with_losses`: a rank is gone, so what failed in it is not tried again in this
  // session.
  void remember(const store::BlockData& data, bool with_losses);
  const std::vector<std::int64_t>& repetitions_done() const { return done_; }  // [phase]
  std::int64_t cells_left() const;  // phases times repetitions, up to the cap

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
  std::int64_t repetition_ = 0;               // the first that is not known to be done
  std::vector<std::int64_t> done_;            // [phase] repetitions
  std::set<std::int64_t> tried_;              // repetition * phases + phase: measured with a rank lost
  std::vector<std::vector<double>> slowest_;  // [phase][repetition] seconds of the slowest rank; if adaptive
};

// The largest, passing over NaN (ranks without a message); NaN when there is nothing else.
double largest_of(std::span<const double> values);

}  // namespace crosscut::conduct
