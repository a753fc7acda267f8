#include "base/clock.hpp"
#include "base/error.hpp"
#include "measure/noise.hpp"
#include "tests/check.hpp"

namespace crosscut::measure {
namespace {

constexpr std::int64_t ms = 1'000'000;

// Returns when a rank is away within the first periods: [period] beginning, counted in steps of 10 us.
std::vector<std::int64_t> absences(const Noise& noise, std::int64_t period, std::int64_t away) {
  std::vector<std::int64_t> began;
  for (std::int64_t now = 0; now < 100 * period; now += ms / 100) {
    const std::int64_t back = noise.back_at(now);
    CHECK(back >= now && back <= now + away);
    CHECK_EQ(noise.back_at(back) >= back, true);
    if (back > now && (began.empty() || now >= began.back() + away)) began.push_back(now);
  }
  return began;
}

TEST(a_rank_is_away_once_in_each_period_at_moments_of_its_own) {
  const auto first = absences(Noise("1ms/10ms", 1, 0), 10 * ms, ms);
  REQUIRE(first.size() == 100);
  std::int64_t least = 10 * ms, most = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto within = first[i] - static_cast<std::int64_t>(i) * 10 * ms;
    CHECK(within >= 0 && within <= 9 * ms);
    least = std::min(least, within);
    most = std::max(most, within);
  }
  CHECK(least < ms && most > 8 * ms);
  CHECK(absences(Noise("1ms/10ms", 1, 1), 10 * ms, ms) != first);
  CHECK(absences(Noise("1ms/10ms", 2, 0), 10 * ms, ms) != first);
  CHECK(absences(Noise("1ms/10ms", 1, 0), 10 * ms, ms) == first);
}

TEST(a_rank_that_is_away_comes_back_when_it_is_to) {
  const Noise noise("2ms/4ms", 7, 3);
  for (const bool polling : {false, true}) {
    int waited = 0;
    for (int i = 0; i < 20; ++i) {
      const auto before = monotonic_nanoseconds(), back = noise.back_at(before);
      noise.pass(polling);
      CHECK(monotonic_nanoseconds() >= back);
      waited += back > before ? 1 : 0;
      const timespec pause{.tv_sec = 0, .tv_nsec = ms};
      ::nanosleep(&pause, nullptr);
    }
    CHECK(waited > 0);
  }
}

TEST(noise_that_makes_no_sense_is_refused) {
  CHECK(!Noise("", 1, 0).any() && !Noise().any());
  for (const char* wrong : {"1ms", "1ms/2ms/3ms", "/", "1/x", "6ms/10ms", "0us/10ms", "1s/2s", "1ms/2h",
                            "nan/1s", "-1ms/10ms", "1ms/0"})
    CHECK_THROWS_SAYING(UsageError, "--noise", Noise(wrong, 1, 0));
  CHECK_THROWS_SAYING(UsageError, "TIME/PERIOD", Noise("6ms/10ms", 1, 0));
}

}  // namespace
}  // namespace crosscut::measure
