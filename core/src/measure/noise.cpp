#include "measure/noise.hpp"

#include <sys/prctl.h>

#include <cerrno>
#include <cmath>
#include <ctime>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"

namespace crosscut::measure {
namespace {

constexpr double longest_period = 1;  // a sample spans ten
// Sleeping ends this much earlier where the rank spins: a core may need so long to wake up.
constexpr std::int64_t spun = 100'000;

}  // namespace

Noise::Noise(std::string_view text, std::uint64_t seed, std::int64_t rank)
    : seed_(mix_bits(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(rank) + 1)) {
  if (text.empty()) return;
  const auto parts = split(text, '/');
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--noise " + shown(text) + ": " + why + "; write TIME/PERIOD, such as 100us/10ms");
  };
  if (parts.size() != 2) refuse("not two times");
  double away = 0, period = 0;
  try {
    away = program::parse_seconds(parts[0]);
    period = program::parse_seconds(parts[1]);
  } catch (const UsageError& error) {
    refuse(error.what());
  }
  if (!(away >= 1e-6)) refuse("the time is shorter than 1 us");
  if (!(period <= longest_period)) refuse("the period is longer than 1 s");
  if (!(away <= period / 2)) refuse("the time is more than half of the period");
  away_ = std::llround(away * 1e9);
  period_ = std::llround(period * 1e9);
}

void Noise::pass(bool polling) const {
  std::int64_t now = monotonic_nanoseconds();
  const std::int64_t back = back_at(now), woken = polling ? back - spun : back;
  if (woken > now) {
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // a thread's sleep is otherwise up to 50 us longer
    const timespec until{.tv_sec = woken / 1'000'000'000, .tv_nsec = woken % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
    ::prctl(PR_SET_TIMERSLACK, 0UL);  // the default again
  }
  while (now < back) now = monotonic_nanoseconds();
}

}  // namespace crosscut::measure
