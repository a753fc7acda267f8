#include "npb/common/benchmark.hpp"

#include <bit>
#include <cmath>

namespace crosscut::npb {

double Check::error() const {
  const double difference = std::abs(computed - published);
  return published == 0 ? difference : difference / std::abs(published);
}

std::string not_a_power_of_two(int ranks) {
  const auto below = std::bit_floor(static_cast<unsigned>(ranks));
  return std::to_string(ranks) + " ranks: it takes a power of two, such as " + std::to_string(below) +
         " or " + std::to_string(2 * below);
}

std::string at_most(std::int64_t most, int ranks, const std::string& what) {
  if (ranks <= most) return "";
  return std::to_string(ranks) + " ranks: " + what + " for " + std::to_string(most) + " ranks at most";
}

}  // namespace crosscut::npb
