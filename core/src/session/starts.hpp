// When the ranks started each phase of a block, and the skew that follows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "measure/backend.hpp"

namespace crosscut::session {

// The first and the last start of each cell of a block, over the ranks that started it.
class Starts {
 public:
  explicit Starts(std::size_t cells)
      : first_(cells, std::numeric_limits<std::int64_t>::max()), last_(cells, measure::not_started) {}

  // `started`: one rank's, [cell], ns of the root's clock; or empty.
  void add(std::span<const std::int64_t> started) {
    for (std::size_t cell = 0; cell < std::min(started.size(), first_.size()); ++cell) {
      if (started[cell] == measure::not_started) continue;
      first_[cell] = std::min(first_[cell], started[cell]);
      last_[cell] = std::max(last_[cell], started[cell]);
    }
  }

  // Returns [cell]; NaN: no rank started it.
  std::vector<double> skew_seconds() const {
    std::vector<double> seconds;
    for (std::size_t cell = 0; cell < first_.size(); ++cell)
      seconds.push_back(last_[cell] < first_[cell]
                            ? std::numeric_limits<double>::quiet_NaN()
                            : (static_cast<double>(last_[cell]) - static_cast<double>(first_[cell])) * 1e-9);
    return seconds;
  }

 private:
  std::vector<std::int64_t> first_, last_;
};

}  // namespace crosscut::session
