// The flow that LU solves for: the Navier-Stokes equations for a compressible gas, on a cube of points
// (RNR-94-007, section 3; NPB 3.4, LU). The conserved quantities u at a point are density, momentum along x,
// y, z, and energy. In dimension d the equations have a flux F(u), by transport and pressure, and an amount
// W(u) that diffuses, as does u itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "npb/common/gas.hpp"

namespace crosscut::npb::lu {

inline constexpr double relaxation = 1.2;  // omega
inline constexpr double heat_diffusion = conductivity * viscosity;

template <typename T>
T pressure(const Point<T>& point, const T& density) {
  return heat_ratio_less_one * density * (point.specific_energy - point.kinetic);
}

// Returns F(u) in dimension d.
template <std::size_t d, typename T>
Vector<T> flux(const Vector<T>& u, const Point<T>& point) {
  const T push = pressure(point, u[0]);
  const T speed = point.velocity[d];
  Vector<T> carried{u[0] * speed, u[1] * speed, u[2] * speed, u[3] * speed, (u[4] + push) * speed};
  carried[1 + d] += push;
  return carried;
}

// Returns W(u) in dimension d, from momentum along x on; density has none.
template <std::size_t d, typename T>
std::array<T, components - 1> diffused(const Point<T>& point) {
  constexpr auto viscous = viscosities(d);
  const auto& w = point.velocity;
  return {viscous[0] * w[0], viscous[1] * w[1], viscous[2] * w[2],
          viscosity * ((1 - conductivity) * point.kinetic + w[d] * w[d] * (1.0 / 6)) +
              heat_diffusion * point.specific_energy};
}

// Arithmetic with 5 x 5 matrices and vectors of 5, for one point (double) or for neighbouring points (Lanes).
using Lanes = Pair;
inline constexpr std::ptrdiff_t lanes = sizeof(Lanes) / sizeof(double);

inline Lanes load(const double* from) {
  Lanes values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

inline void store(const Lanes& values, double* to) { std::memcpy(to, &values, sizeof values); }

template <typename T>
Vector<T> multiply(const Matrix<T>& block, const Vector<T>& vector) {
  Vector<T> product;
  for (std::size_t m = 0; m < components; ++m)
    product[m] = block[m][0] * vector[0] + block[m][1] * vector[1] + block[m][2] * vector[2] +
                 block[m][3] * vector[3] + block[m][4] * vector[4];
  return product;
}

// Factors `block` into triangular matrices in place, without pivoting: LU's blocks are diagonally dominant.
// Leaves the inverses of the pivots on the diagonal.
template <typename T>
void factor(Matrix<T>& block) {
  for (std::size_t pivot = 0; pivot < components; ++pivot) {
    block[pivot][pivot] = 1.0 / block[pivot][pivot];
    for (std::size_t m = pivot + 1; m < components; ++m) {
      block[m][pivot] *= block[pivot][pivot];
      for (std::size_t n = pivot + 1; n < components; ++n) block[m][n] -= block[m][pivot] * block[pivot][n];
    }
  }
}

// Solves factors x = vector, in place.
template <typename T>
void solve(const Matrix<T>& factors, Vector<T>& vector) {
  for (std::size_t m = 1; m < components; ++m)
    for (std::size_t n = 0; n < m; ++n) vector[m] -= factors[m][n] * vector[n];
  for (std::size_t m = components; m-- > 0;) {
    for (std::size_t n = m + 1; n < components; ++n) vector[m] -= factors[m][n] * vector[n];
    vector[m] *= factors[m][m];
  }
}

}  // namespace crosscut::npb::lu
