// What a fluid model leaves out: how flows that meet lose more than their fair share says. Off unless asked
// for, and apart from the solver, whose rates stay max-min.
#pragma once

#include <algorithm>
#include <cmath>

namespace crosscut {

// Near the point where a capacity is just enough for all, measured rates bend before the fluid model's do: on
// the E7, 8 pairs within an ASIC reach 10.5 MB/s where their links still carry 11.3 and the ASIC's capacity
// has 11.7 for each (Kurmann 2003, table 3). A soft minimum joins the two bounds smoothly:
//
//   rate = (link^-p + share^-p)^(-1/p)
//
// `link` is what the flow has for itself, `share` its max-min share of all that it has in common with others.
// The rate tends to the smaller of the two where they are far apart, hence to the link's where nothing is
// shared, and to 2^(-1/p) of it where they are equal; p -> infinity is the hard minimum. It never exceeds the
// share, so no capacity is exceeded. One parameter for all rows of a network; a fit, not a mechanism: it may
// be calibrated on pairwise rates only, never on what it then predicts.
class Knee {
 public:
  Knee() = default;
  explicit Knee(double sharpness) : sharpness_(sharpness) {}
  bool on() const { return sharpness_ > 0; }
  // Both in one unit; either may be infinite.
  double rate(double link, double share) const {
    const auto less = std::min(link, share), more = std::max(link, share);
    if (!on() || less <= 0 || std::isinf(more)) return less;
    // Of the quotient, which is at most 1: powers of rates would leave the range of doubles.
    return less * std::pow(1 + std::pow(less / more, sharpness_), -1 / sharpness_);
  }

 private:
  double sharpness_ = 0;  // p; 0: off
};

}  // namespace crosscut
