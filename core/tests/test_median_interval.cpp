// Compared with the binomial distribution itself, in integers if they fit.
#include <cmath>
#include <limits>

#include "conduct/median_interval.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::conduct;

namespace {

// P(fewer than k of n values lie below the median), by Pascal's rule for the probability of each count: every
// step halves a sum, with negligible loss.
std::vector<long double> chance_of_each(std::size_t n) {
  std::vector<long double> chance{1};
  for (std::size_t i = 0; i < n; ++i) {
    chance.push_back(0);
    for (std::size_t k = i + 1; k > 0; --k) chance[k] = (chance[k] + chance[k - 1]) / 2;
    chance[0] /= 2;
  }
  return chance;
}

long double below(const std::vector<long double>& chance, std::size_t k) {
  long double sum = 0;
  for (std::size_t i = 0; i < k; ++i) sum += chance[i];
  return sum;
}

}  // namespace

TEST(the_interval_is_the_narrowest_that_holds_the_median_with_95_percent) {
  for (std::size_t n = 6; n <= 200; ++n) {
    const auto chance = chance_of_each(n);
    const auto [lower, upper] = median_interval_indices(n);
    CHECK_EQ(lower + upper, n - 1);  // equally far from both ends
    CHECK(lower < upper);
    // The interval misses the median on one side if at most `lower` values lie below it.
    CHECK(1 - 2 * below(chance, lower + 1) >= 0.95L);
    CHECK(1 - 2 * below(chance, lower + 2) < 0.95L);
  }
}

TEST(the_indices_are_those_of_published_tables) {
  // Le Boudec, Performance Evaluation of Computer and Communication Systems, table A.1 (counting from 1): n =
  // 6: 1 and 6; n = 8: 1 and 7 or 2 and 8, symmetric 1 and 8; n = 10: 2 and 9; n = 20: 6 and 15.
  using Pair = std::pair<std::size_t, std::size_t>;
  CHECK_EQ(median_interval_indices(6), Pair(0, 5));
  CHECK_EQ(median_interval_indices(8), Pair(0, 7));
  CHECK_EQ(median_interval_indices(10), Pair(1, 8));
  CHECK_EQ(median_interval_indices(20), Pair(5, 14));
}

TEST(fewer_than_six_values_have_no_interval) {
  for (std::size_t n = 1; n < 6; ++n) {
    const std::pair<std::size_t, std::size_t> extremes(0, n - 1);
    CHECK_EQ(median_interval_indices(n), extremes);
    CHECK_EQ(relative_interval_width(std::vector<double>(n, 1.0)), std::numeric_limits<double>::infinity());
  }
  CHECK_EQ(median_interval_indices(0).second, 0);
}

TEST(many_values_do_not_run_out_of_numbers) {
  for (const std::size_t n : {1'000UL, 100'000UL, 2'000'000UL}) {
    const auto [lower, upper] = median_interval_indices(n);
    const double half = static_cast<double>(n) / 2 - static_cast<double>(lower);
    CHECK_EQ(lower + upper, n - 1);
    // The normal approximation holds here: 1.96 standard deviations of sqrt(n) / 2.
    CHECK(std::abs(half / (0.98 * std::sqrt(static_cast<double>(n))) - 1) < 0.05);
  }
}

// tests/unit/test_intervals.py has the same numbers.
TEST(values_that_follow_each_other_and_are_alike_stretch_the_interval) {
  const std::vector<double> wave{5, 6, 7, 7, 8, 9, 9, 8, 7, 6, 5, 4, 4, 3, 4, 5, 6, 7, 6, 5};
  const std::vector<double> digits{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
  std::vector<double> spread(20);
  for (std::size_t i = 0; i < spread.size(); ++i) spread[i] = static_cast<double>(i * 7 % 20);
  const auto near = [](double value, double expected) { return std::abs(value - expected) < 1e-4; };
  CHECK(near(interval_stretch(wave), 3.9745));
  CHECK(near(interval_stretch(digits), 1.3083));
  CHECK(near(interval_stretch(std::vector<double>(25, 1.0)), 1.1336));
  CHECK_EQ(interval_stretch(spread), 1.0);
  CHECK_EQ(interval_stretch(std::span(wave).first(19)), 1.0);
  CHECK_EQ(relative_interval_width(wave), (9.0 - 3.0) / 6.0);  // the extremes
  // For independent values the 6th and 15th bound it; widened by 1.31, the 4th and 17th.
  CHECK_EQ(relative_interval_width(digits), (8.0 - 2.0) / 4.5);
}

TEST(the_stretch_of_values_that_are_not_numbers_is_found_nevertheless) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values(25, 1.0);
  for (const std::size_t i : {3UL, 4UL, 11UL}) values[i] = nan;
  CHECK(interval_stretch(values) >= 1);
  CHECK(interval_stretch(std::vector<double>(25, nan)) >= 1);
}

TEST(times_of_lost_ranks_are_left_out) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_EQ(relative_interval_width({6, nan, 2, 5, 3, nan, 1, 4}), (6 - 1) / 3.5);
  CHECK_EQ(relative_interval_width({6, nan, 2, 5, 3, 4}), std::numeric_limits<double>::infinity());
}

TEST(the_relative_width_is_of_the_sorted_values) {
  CHECK_EQ(relative_interval_width({6, 2, 5, 3, 1, 4}), (6 - 1) / 3.5);
  CHECK_EQ(relative_interval_width({10, 1, 9, 2, 8, 3, 7, 4, 6, 5}), (9 - 2) / 5.5);
  CHECK_EQ(relative_interval_width(std::vector<double>(10, 3.0)), 0.0);
  CHECK_EQ(relative_interval_width(std::vector<double>(10, 0.0)), 0.0);
}
