// This rank's clock, compared with the root's before and after each block. Between two comparisons the
// difference is taken to change evenly.
#pragma once

#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "measure/backend.hpp"
#include "session/barrier_tree.hpp"

namespace crosscut::session {

class RootClock {
 public:
  // Forgets earlier comparisons and compares anew. Collective. Returns the uncertainty, in seconds.
  double start(BarrierTree& barrier) {
    before_ = after_ = compare(barrier);
    return after_.offset.uncertainty_seconds;
  }

  // Compares again and converts times since the last comparison, in ns of this rank's clock, to the root's
  // clock. Collective. Leaves `not_started` as it is.
  void convert(BarrierTree& barrier, std::span<std::int64_t> times) {
    before_ = after_;
    after_ = compare(barrier);
    for (auto& time : times)
      if (time != measure::not_started) time -= offset_at(time);
  }

 private:
  struct Comparison {
    std::int64_t at = 0;  // this rank's clock, ns
    BarrierTree::ClockOffset offset;
  };

  static Comparison compare(BarrierTree& barrier) {
    const auto offset = barrier.measure_offset();
    return {monotonic_nanoseconds(), offset};
  }

  std::int64_t offset_at(std::int64_t time) const {
    const auto first = static_cast<std::int64_t>(before_.offset.seconds * 1e9);
    const auto change = (after_.offset.seconds - before_.offset.seconds) * 1e9;
    const auto part = static_cast<double>(time - before_.at) / static_cast<double>(after_.at - before_.at);
    return first + static_cast<std::int64_t>(part * change);
  }

  Comparison before_, after_;
};

}  // namespace crosscut::session
