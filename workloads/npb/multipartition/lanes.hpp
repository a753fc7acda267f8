// Lines are solved side by side, since along a line each point waits for the one before: two in a vector
// register, and some registers one after another, so that one's divisions are done while others multiply.
#pragma once

#include "npb/common/jacobian.hpp"

namespace crosscut::npb::multipartition {

inline constexpr std::size_t pairs = 4;
inline constexpr std::size_t width = 2 * pairs;

// One number of each of so many lines.
struct Lanes {
  Pair pair[pairs];

  double get(std::size_t lane) const { return pair[lane / 2][lane % 2]; }
  void set(std::size_t lane, double value) { pair[lane / 2][lane % 2] = value; }
};

}  // namespace crosscut::npb::multipartition
