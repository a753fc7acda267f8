#include "conduct/median_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace crosscut::conduct {
namespace {

constexpr double missed_on_a_side = 0.025;
constexpr std::size_t fewest_for_correlation = 20;
constexpr double most_correlation = 0.99;

// Returns the values' ranks, centred on 0; equal values share the mean of their ranks. NaN ranks last.
std::vector<double> centred_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return values[a] < values[b] || (std::isnan(values[b]) && !std::isnan(values[a]));
  });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    last = first + 1;  // NaN equals nothing, not even itself
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const auto shared = (static_cast<double>(first + last) - static_cast<double>(order.size())) / 2;
    for (auto i = first; i < last; ++i) ranks[order[i]] = shared;
  }
  return ranks;
}

}  // namespace

std::pair<std::size_t, std::size_t> median_interval_indices(std::size_t n) {
  if (n < 6) return {0, n == 0 ? 0 : n - 1};
  // Find the largest k with P(fewer than k values below the median) <= 2.5 %. Logarithms keep 2^-n from
  // underflowing.
  double cumulative = 0;
  double log_term = -static_cast<double>(n) * std::numbers::ln2;
  std::size_t k = 0;
  while (k < n / 2) {
    cumulative += std::exp(log_term);
    if (cumulative > missed_on_a_side) break;
    log_term += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
    ++k;
  }
  return {k - 1, n - k};
}

double interval_stretch(std::span<const double> in_time_order) {
  const auto count = in_time_order.size();
  if (count < fewest_for_correlation) return 1;
  const auto ranks = centred_ranks(in_time_order);
  const auto squares = std::inner_product(ranks.begin(), ranks.end(), ranks.begin(), 0.0);
  const auto products = std::inner_product(ranks.begin() + 1, ranks.end(), ranks.begin(), 0.0);
  const auto n = static_cast<double>(count);
  auto correlation = squares > 0 ? products / squares : 0;
  correlation += (1 + 3 * std::max(correlation, 0.0)) / n;
  correlation += 0.75 * std::sqrt(std::max(1 - correlation * correlation, 0.0) / n);
  correlation = std::clamp(correlation, 0.0, most_correlation);
  double inflation = 1;
  double power = correlation;
  for (double lag = 1; lag < n && power > 1e-9; ++lag, power *= correlation)
    inflation += 4 / std::numbers::pi * (1 - lag / n) * std::asin(power);
  return std::sqrt(inflation);
}

double relative_interval_width(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });  // a rank was lost
  if (values.size() < 6) return std::numeric_limits<double>::infinity();
  const auto stretch = interval_stretch(values);
  std::sort(values.begin(), values.end());
  const auto last = values.size() - 1;
  const auto middle = static_cast<double>(last) / 2;
  const auto independent = static_cast<double>(median_interval_indices(values.size()).second);
  const auto upper = std::ceil(middle + stretch * (independent - middle) - 1e-9);
  const auto at = std::min(static_cast<std::size_t>(upper), last);
  const auto median = (values[last / 2] + values[values.size() / 2]) / 2;
  return median > 0 ? (values[at] - values[last - at]) / median : 0;
}

}  // namespace crosscut::conduct
