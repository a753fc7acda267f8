// Contention effects that a fluid model leaves out: flows that share a capacity get less than their fair
// share. Off by default, and separate from the solver, whose rates stay max-min.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/random.hpp"

namespace crosscut::networks {

// Where a capacity is just enough for all flows, measured rates bend before the fluid model's do: on the E7,
// 8 pairs within an ASIC reach 10.5 MB/s where their links still carry 11.3 and the ASIC's capacity has 11.7
// for each (Kurmann 2003, table 3). A soft minimum joins the two bounds smoothly:
//
//   rate = (link^-p + (c share)^-p)^(-1/p)
//
// `link` is the capacity that the flow has for itself, `share` its max-min share of all that it shares with
// others. The rate tends to the smaller of the two where they are far apart, hence to the link's where
// nothing is shared. Where they are equal, it is 2^(-1/p) of either; p -> infinity is the hard minimum. The
// scale c, at most 1, is the part of a crowded capacity that its flows together achieve: far beyond the knee,
// rates of the same table stay below the shares (12 pairs within an ASIC reach all 7.8 MB/s of their share,
// but 12 pairs between modules 6.9 of 7.8). The rate never exceeds the share, so no capacity is exceeded. Two
// parameters serve all rows of a network. They are a fit, not a mechanism: calibrate them on pairwise rates
// only, never on the figures they then predict.
class Knee {
 public:
  Knee() = default;
  explicit Knee(double sharpness, double scale = 1) : sharpness_(sharpness), scale_(scale) {}
  bool on() const { return sharpness_ > 0; }
  // Both arguments are in one unit; either may be infinite.
  double rate(double link, double share) const {
    if (on()) share *= scale_;
    const auto less = std::min(link, share), more = std::max(link, share);
    if (!on() || less <= 0 || std::isinf(more)) return less;
    // Raise the quotient, which is at most 1: powers of rates would exceed the range of doubles.
    return less * std::pow(1 + std::pow(less / more, sharpness_), -1 / sharpness_);
  }

 private:
  double sharpness_ = 0;  // p; 0: off
  double scale_ = 1;      // c
};

// TCP does not share evenly: each of the flows that meet gets a share in proportion to its own weight, drawn
// anew for every phase. Weights are log-normal (a rate is a product of many small gains and losses), with the
// given coefficient of variation. The weight does not matter where a flow is alone, or where its link is
// smaller than any share. The total rate through a capacity is unchanged. But a phase ends with its slowest
// route, and the shared capacity is not full while the last flows drain at the rate of their own links.
class ShareSpread {
 public:
  ShareSpread() = default;
  ShareSpread(double variation, std::uint64_t seed)
      : deviation_(std::sqrt(std::log1p(variation * variation))), seed_(seed) {}
  bool on() const { return deviation_ > 0; }
  // Depends on the message alone, hence deterministic with any number of threads.
  double weight(std::int64_t phase, std::int32_t source, std::int32_t destination,
                std::uint8_t channel) const {
    const auto ends = static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 |
                      static_cast<std::uint32_t>(destination);
    Random random(Random(Random(seed_ + channel).next() ^ static_cast<std::uint64_t>(phase)).next() ^ ends);
    // Box and Muller 1958; never takes the logarithm of zero.
    const double u = (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
    const double v = static_cast<double>(random.next() >> 11) * 0x1p-53;
    return std::exp(deviation_ * std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v));
  }

 private:
  double deviation_ = 0;  // of the weight's logarithm; 0: even shares
  std::uint64_t seed_ = 0;
};

}  // namespace crosscut::networks
