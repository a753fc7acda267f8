#include "base/clock.hpp"

#include <algorithm>
#include <limits>

namespace crosscut {

ClockQuality measure_clock() {
  constexpr int readings = 10'000;
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  const auto first = monotonic_nanoseconds();
  auto last = first;
  for (int i = 0; i < readings; ++i) {
    const auto now = monotonic_nanoseconds();
    if (now > last) step = std::min(step, now - last);
    last = now;
  }
  return {static_cast<double>(step) * 1e-9, static_cast<double>(last - first) * 1e-9 / readings};
}

}  // namespace crosscut
