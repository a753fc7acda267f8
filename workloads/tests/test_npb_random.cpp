#include <cmath>
#include <cstdint>

#include "npb/common/random.hpp"
#include "tests/check.hpp"

using crosscut::npb::RandomStream;

namespace {

// The product of two 46-bit numbers modulo 2^46 in halves of 23 bits, in doubles, as written in RNR-94-007
// (section 2.3, steps 1 to 5).
double report_step(double& x, double a) {
  const auto upper = [](double value) { return std::trunc(value * 0x1p-23); };
  const double a1 = upper(a), a2 = a - 0x1p23 * a1;
  const double x1 = upper(x), x2 = x - 0x1p23 * x1;
  const double crossed = a1 * x2 + a2 * x1;
  const double z = crossed - 0x1p23 * upper(crossed);
  const double whole = 0x1p23 * z + a2 * x2;
  x = whole - 0x1p46 * std::trunc(whole * 0x1p-46);
  return x * 0x1p-46;
}

}  // namespace

TEST(it_is_the_report_s_algorithm_number_for_number) {
  for (const std::uint64_t seed : {std::uint64_t{314159265}, std::uint64_t{271828183}, std::uint64_t{1}}) {
    RandomStream random(seed);
    auto x = static_cast<double>(seed);
    for (int i = 0; i < 10000; ++i) CHECK_EQ(random.next(), report_step(x, 1220703125.0));
  }
}

TEST(the_multiplier_is_5_to_the_13th) {
  std::uint64_t power = 1;
  for (int i = 0; i < 13; ++i) power *= 5;
  CHECK_EQ(RandomStream::multiplier, power);
}

// This holds for every multiplier that is 5 modulo 8 and every odd seed (Knuth, The Art of Computer
// Programming 2, 3.2.1.2, theorem C).
TEST(the_period_is_2_to_the_44th) {
  CHECK_EQ(RandomStream::power(std::uint64_t{1} << 44), 1u);
  CHECK(RandomStream::power(std::uint64_t{1} << 43) != 1u);
}

TEST(starting_at_a_position_is_drawing_all_before_it) {
  RandomStream drawn(314159265);
  for (int i = 0; i < 12345; ++i) drawn.next();
  RandomStream jumped(314159265, 12345);
  CHECK_EQ(jumped.next(), drawn.next());
  CHECK_EQ(jumped.next(), drawn.next());
}

TEST(numbers_lie_between_0_and_1_and_fill_it_evenly) {
  RandomStream random(271828183);
  constexpr int draws = 100000;
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    const double value = random.next();
    CHECK(value > 0 && value < 1);
    sum += value;
  }
  // Five standard deviations of the mean of so many.
  CHECK(std::abs(sum / draws - 0.5) < 5 * std::sqrt(1.0 / 12 / draws));
}
