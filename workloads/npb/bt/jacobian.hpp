// The Jacobians of BT (RNR-94-007, section 3): how fluxes and viscous terms along a dimension change with
// the solution at a point.
#pragma once

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/lines.hpp"

namespace crosscut::npb::bt {

using multipartition::components;
using multipartition::dimensions;
using multipartition::Pair;

// Of two lines.
struct Matrix {
  Pair at[components][components];
};

// The gas at a point, two lines of it.
struct Point {
  Pair inverse_density;
  Pair velocity[dimensions];
  Pair kinetic;
  Pair specific_energy;  // of a unit of mass
};

// Of the flux across the dimension.
void flux_jacobian(const Point& point, std::size_t dimension, Matrix& result);
// Of what differs in the viscous terms between neighbouring points.
void viscous_jacobian(const Point& point, std::size_t dimension, Matrix& result);

}  // namespace crosscut::npb::bt
