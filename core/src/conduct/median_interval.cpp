#include "conduct/median_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace crosscut::conduct {
namespace {

constexpr double missed_on_a_side = 0.025;

}  // namespace

std::pair<std::size_t, std::size_t> median_interval_indices(std::size_t n) {
  if (n < 6) return {0, n == 0 ? 0 : n - 1};
  // Finds the largest k with P(fewer than k values below the median) <= 2.5 %. Logarithms avoid underflow of
  // 2^-n.
  double cumulative = 0;
  double log_term = -static_cast<double>(n) * std::log(2.0);
  std::size_t k = 0;
  while (k < n / 2) {
    cumulative += std::exp(log_term);
    if (cumulative > missed_on_a_side) break;
    log_term += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
    ++k;
  }
  return {k - 1, n - k};
}

double relative_interval_width(std::vector<double> values) {
  if (values.size() < 6) return std::numeric_limits<double>::infinity();
  std::sort(values.begin(), values.end());
  const auto [lower, upper] = median_interval_indices(values.size());
  const auto median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  return median > 0 ? (values[upper] - values[lower]) / median : 0;
}

}  // namespace crosscut::conduct
