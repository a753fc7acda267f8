// The flow that LU solves for: the equations of Navier and Stokes for a compressible gas, on a cube of points
// (RNR-94-007, section 3; NPB 3.4, LU). What is conserved at a point, u: density, momentum along x, y, z,
// energy. In dimension d the equations have a flux F(u), which carries and pushes, and an amount W(u) that
// diffuses, along with u itself.
#pragma once

#include <array>
#include <cstddef>

#include "npb/lu/block.hpp"

namespace crosscut::npb::lu {

inline constexpr std::size_t dimensions = 3;

// Coefficients of the report, by its names.
inline constexpr double c1 = 1.4;  // ratio of specific heats
inline constexpr double c2 = 0.4;
inline constexpr double c3 = 0.1;
inline constexpr double c4 = 1.0;
inline constexpr double c5 = 1.4;
inline constexpr double c34 = c3 * c4;
inline constexpr double c1345 = c1 * c3 * c4 * c5;
inline constexpr std::array<double, dimensions> diffusion{0.75, 0.75, 1.0};  // d of u, by dimension
inline constexpr double dissipation = 1.0 / 4;  // of fourth differences: a quarter of the largest d
inline constexpr double relaxation = 1.2;       // omega

// Viscosity of momentum c in dimension d, in units of c34.
constexpr double viscosity(std::size_t d, std::size_t c) { return d == c ? 4.0 / 3 : 1.0; }

// Lengths of a grid whose side is 1.
struct Spacing {
  explicit constexpr Spacing(int side)
      : first(0.5 * (side - 1)), second(static_cast<double>(side - 1) * (side - 1)) {}
  double first;   // of central first differences, 1 / 2h
  double second;  // of second differences, 1 / h^2
};

// What formulas want to know of u.
template <typename T>
struct State {
  T inverse_density;
  std::array<T, dimensions> velocity;
  T energy;   // for each unit of mass
  T kinetic;  // the part of it that is motion

  explicit State(const Vector<T>& u)
      : inverse_density(1.0 / u[0]),
        velocity{u[1] * inverse_density, u[2] * inverse_density, u[3] * inverse_density},
        energy(u[4] * inverse_density),
        kinetic(0.5 * (velocity[0] * velocity[0] + velocity[1] * velocity[1] + velocity[2] * velocity[2])) {}
};

template <typename T>
T pressure(const State<T>& state, const T& density) {
  return c2 * density * (state.energy - state.kinetic);
}

// F(u) in dimension d.
template <std::size_t d, typename T>
Vector<T> flux(const Vector<T>& u, const State<T>& state) {
  const T push = pressure(state, u[0]);
  const T speed = state.velocity[d];
  Vector<T> carried{u[0] * speed, u[1] * speed, u[2] * speed, u[3] * speed, (u[4] + push) * speed};
  carried[1 + d] += push;
  return carried;
}

// W(u) in dimension d: of the components from momentum along x on; density has none.
template <std::size_t d, typename T>
std::array<T, components - 1> diffused(const State<T>& state) {
  const auto& w = state.velocity;
  return {c34 * viscosity(d, 0) * w[0], c34 * viscosity(d, 1) * w[1], c34 * viscosity(d, 2) * w[2],
          c34 * ((1 - c1 * c5) * state.kinetic + w[d] * w[d] * (1.0 / 6) + c1 * c5 * state.energy)};
}

// dF/du in dimension d.
template <std::size_t d, typename T>
Block<T> flux_jacobian(const State<T>& state) {
  const auto& w = state.velocity;
  Block<T> block{};
  block[0][1 + d] += 1.0;
  for (std::size_t m = 0; m < dimensions; ++m) {
    block[1 + m][0] = -w[m] * w[d];
    block[1 + m][1 + m] += w[d];
    block[1 + m][1 + d] += w[m];
  }
  block[1 + d][0] += c2 * state.kinetic;
  for (std::size_t c = 0; c < dimensions; ++c) block[1 + d][1 + c] -= c2 * w[c];
  block[1 + d][4] += c2;
  const T heat = c1 * state.energy;
  block[4][0] = (2 * c2 * state.kinetic - heat) * w[d];
  for (std::size_t c = 0; c < dimensions; ++c) block[4][1 + c] = -c2 * w[c] * w[d];
  block[4][1 + d] += heat - c2 * state.kinetic;
  block[4][4] = c1 * w[d];
  return block;
}

// `block` + factor dW/du, where `viscosities` are those of momentum, and `heat` that of energy.
template <typename T>
void add_diffusion_jacobian(Block<T>& block, const State<T>& state,
                            const std::array<double, dimensions>& viscosities, double heat, double factor) {
  const auto& w = state.velocity;
  const T scale = factor * state.inverse_density;
  T sum = -heat * state.energy;
  for (std::size_t m = 0; m < dimensions; ++m) {
    block[1 + m][0] -= viscosities[m] * scale * w[m];
    block[1 + m][1 + m] += viscosities[m] * scale;
    block[4][1 + m] += (viscosities[m] - heat) * scale * w[m];
    sum -= (viscosities[m] - heat) * w[m] * w[m];
  }
  block[4][0] += scale * sum;
  block[4][4] += heat * scale;
}

}  // namespace crosscut::npb::lu
