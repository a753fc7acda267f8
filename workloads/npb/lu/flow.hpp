// The flow that LU solves for: the equations of Navier and Stokes for a compressible gas, on a cube of points
// (RNR-94-007, section 3; NPB 3.4, LU). What is conserved at a point, u: density, momentum along x, y, z,
// energy. In dimension d the equations have a flux F(u), which carries and pushes, and an amount W(u) that
// diffuses, along with u itself.
#pragma once

#include <array>
#include <cstddef>

#include "npb/common/jacobian.hpp"

namespace crosscut::npb::lu {

inline constexpr double relaxation = 1.2;  // omega
inline constexpr double heat_diffusion = conductivity * viscosity;

template <typename T>
T pressure(const Point<T>& point, const T& density) {
  return heat_ratio_less_one * density * (point.specific_energy - point.kinetic);
}

// F(u) in dimension d.
template <std::size_t d, typename T>
Vector<T> flux(const Vector<T>& u, const Point<T>& point) {
  const T push = pressure(point, u[0]);
  const T speed = point.velocity[d];
  Vector<T> carried{u[0] * speed, u[1] * speed, u[2] * speed, u[3] * speed, (u[4] + push) * speed};
  carried[1 + d] += push;
  return carried;
}

// W(u) in dimension d: of the components from momentum along x on; density has none.
template <std::size_t d, typename T>
std::array<T, components - 1> diffused(const Point<T>& point) {
  constexpr auto viscous = viscosities(d);
  const auto& w = point.velocity;
  return {viscous[0] * w[0], viscous[1] * w[1], viscous[2] * w[2],
          viscosity * ((1 - conductivity) * point.kinetic + w[d] * w[d] * (1.0 / 6)) +
              heat_diffusion * point.specific_energy};
}

}  // namespace crosscut::npb::lu
