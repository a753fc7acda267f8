// Five numbers at each point of a rank's part of the cube, and around it, along x and y, two layers that
// belong to neighbours. Along z every rank has all points.
#pragma once

#include <cstddef>
#include <vector>

#include "npb/lu/flow.hpp"

namespace crosscut::npb::lu {

using Index = std::ptrdiff_t;

struct Range {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end - begin; }
};

// Of a row (all points with the same y and z) first all densities, then all momenta along x, and so on: what
// is computed at neighbouring points together lies together.
class Field {
 public:
  static constexpr Index layers = 2;

  // All numbers, those of layers that no neighbour fills too, are `value`.
  Field(Index x, Index y, Index z, double value)
      : pitch_((x + 2 * layers + lanes - 1) / lanes * lanes),
        rows_(y + 2 * layers),
        values_(static_cast<std::size_t>(z * rows_ * components * pitch_), value) {}

  // From a component of a point to the next component; from a point to that with the next y, the next z.
  Index pitch() const { return pitch_; }
  Index y_step() const { return components * pitch_; }
  Index z_step() const { return rows_ * y_step(); }

  // The density at x = 0; x from -2 on, y from -2 on.
  double* row(Index y, Index z) { return values_.data() + offset(y, z); }
  const double* row(Index y, Index z) const { return values_.data() + offset(y, z); }

  State at(Index x, Index y, Index z) const {
    const double* first = row(y, z) + x;
    return {first[0], first[pitch_], first[2 * pitch_], first[3 * pitch_], first[4 * pitch_]};
  }
  void set(Index x, Index y, Index z, const State& values) {
    double* to = row(y, z) + x;
    for (std::size_t m = 0; m < components; ++m) to[static_cast<Index>(m) * pitch_] = values[m];
  }

 private:
  Index offset(Index y, Index z) const { return z * z_step() + (y + layers) * y_step() + layers; }

  Index pitch_;
  Index rows_;
  std::vector<double> values_;
};

}  // namespace crosscut::npb::lu
