// Noise like that of an operating system, injected into a rank: once in each period, at a moment drawn anew,
// its processor is away for a while. The network goes on meanwhile. Hoefler, Schneider, Lumsdaine:
// Characterizing the Influence of System Noise on Large-Scale Applications by Simulation, SC 2010; Ferreira,
// Bridges, Brightwell: Characterizing Application Sensitivity to OS Interference Using Kernel-Level Noise
// Injection, SC 2008.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.hpp"

namespace crosscut::measure {

class Noise {
 public:
  Noise() = default;  // none
  // Parses `100us/10ms`: away for 100 us in each 10 ms; empty: none. Ranks are away at different moments.
  // Throws UsageError.
  Noise(std::string_view text, std::uint64_t seed, std::int64_t rank);

  bool any() const { return period_ > 0; }
  double period_seconds() const { return static_cast<double>(period_) * 1e-9; }
  // Returns when the processor is back, in nanoseconds: `now` if it is not away, and at most the longest
  // absence later.
  std::int64_t back_at(std::int64_t now) const {
    const std::int64_t number = now / period_;
    const auto drawn = mix_bits(seed_ + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(number + 1));
    const auto room = static_cast<std::uint64_t>(period_ - away_ + 1);
    const std::int64_t gone = number * period_ + static_cast<std::int64_t>(drawn % room);
    return now >= gone && now < gone + away_ ? gone + away_ : now;
  }
  // Sleeps while the processor is away. `polling`: the rank has a core of its own, and spins at the end of
  // the absence to be back in time.
  void pass(bool polling) const;

 private:
  std::int64_t away_ = 0, period_ = 0;  // nanoseconds
  std::uint64_t seed_ = 0;
};

}  // namespace crosscut::measure
