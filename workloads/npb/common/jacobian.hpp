// How the fluxes and the viscous terms of the gas change with the solution at a point (RNR-94-007, section
// 3). T is double for one point, or a vector of doubles for neighbouring points at once.
#pragma once

#include "npb/common/gas.hpp"

namespace crosscut::npb {

// Two doubles, as the plain vector registers of every 64-bit processor hold them.
using Pair [[gnu::vector_size(2 * sizeof(double))]] = double;

template <typename T>
using Vector = std::array<T, components>;
template <typename T>
using Matrix = std::array<Vector<T>, components>;  // by row, then column

// What the formulas need of a State.
template <typename T>
struct Point {
  T inverse_density;
  std::array<T, dimensions> velocity;
  T kinetic;          // energy of motion, for each unit of mass
  T specific_energy;  // all energy, for each unit of mass
};

template <typename T>
Point<T> point_of(const Vector<T>& u) {
  const T inverse = 1.0 / u[density];
  const std::array<T, dimensions> w{u[1] * inverse, u[2] * inverse, u[3] * inverse};
  return {inverse, w, 0.5 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), u[energy] * inverse};
}

// Of the flux across dimension d: density w; momentum w + pressure along d; (energy + pressure) w, where w is
// the velocity along d and pressure = k2 (energy - kinetic).
template <typename T>
Matrix<T> flux_jacobian(const Point<T>& point, std::size_t d) {
  constexpr double k = heat_ratio_less_one;
  const auto& w = point.velocity;
  const std::size_t along = momentum(d);
  Matrix<T> block{};
  block[density][along] += 1.0;
  for (std::size_t c = 0; c < dimensions; ++c) {
    block[momentum(c)][density] = -w[c] * w[d];
    block[momentum(c)][momentum(c)] += w[d];
    block[momentum(c)][along] += w[c];
  }
  block[along][density] += k * point.kinetic;
  for (std::size_t c = 0; c < dimensions; ++c) block[along][momentum(c)] -= k * w[c];
  block[along][energy] += k;
  const T enthalpy = heat_ratio * point.specific_energy - k * point.kinetic;
  block[energy][density] = (k * point.kinetic - enthalpy) * w[d];
  for (std::size_t c = 0; c < dimensions; ++c) block[energy][momentum(c)] = -k * w[c] * w[d];
  block[energy][along] += enthalpy;
  block[energy][energy] = heat_ratio * w[d];
  return block;
}

// Adds `factor` times the Jacobian of what viscosity acts on (velocities) and of what heat conduction acts on
// (energy of a unit of mass, without that of its motion); `heat` is the conductivity times the viscosity.
template <typename T>
void add_diffusion_jacobian(Matrix<T>& block, const Point<T>& point,
                            const std::array<double, dimensions>& viscous, double heat, double factor) {
  const auto& w = point.velocity;
  const T scale = factor * point.inverse_density;
  T sum = -heat * point.specific_energy;
  for (std::size_t c = 0; c < dimensions; ++c) {
    block[momentum(c)][density] -= viscous[c] * scale * w[c];
    block[momentum(c)][momentum(c)] += viscous[c] * scale;
    block[energy][momentum(c)] += (viscous[c] - heat) * scale * w[c];
    sum -= (viscous[c] - heat) * w[c] * w[c];
  }
  block[energy][density] += scale * sum;
  block[energy][energy] += heat * scale;
}

}  // namespace crosscut::npb
