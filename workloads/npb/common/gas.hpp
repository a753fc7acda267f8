// The gas of BT, LU and SP (RNR-94-007, section 3): the compressible Navier-Stokes equations on a unit cube,
// simplified artificially, with a forcing term such that a polynomial solves them.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "npb/common/communicator.hpp"

namespace crosscut::npb {

inline constexpr std::size_t dimensions = 3;
inline constexpr std::size_t density = 0;
inline constexpr std::size_t energy = 4;
inline constexpr int components = 5;

constexpr std::size_t momentum(std::size_t dimension) { return 1 + dimension; }

// Density, momentum along x, y and z, energy; per unit of volume.
using State = std::array<double, components>;

// The constants k1 to k5 of the report: 1.4, 0.4, 0.1, 1, 1.4.
inline constexpr double heat_ratio = 1.4;           // k1
inline constexpr double heat_ratio_less_one = 0.4;  // k2
inline constexpr double viscosity = 0.1;            // k3 k4
inline constexpr double conductivity = 1.4 * 1.4;   // k1 k5, as a multiple of the viscosity
inline constexpr double stretching = 4.0 / 3;       // viscosity along the flow, relative to that across it

// Returns the viscosity of the momentum along each dimension, for flow along `dimension`.
constexpr std::array<double, dimensions> viscosities(std::size_t dimension) {
  std::array<double, dimensions> result{viscosity, viscosity, viscosity};
  result[dimension] *= stretching;
  return result;
}

// Artificial second-order diffusion along each dimension, the same for all components.
inline constexpr std::array<double, dimensions> diffusion{0.75, 0.75, 1.0};
// Artificial fourth-order dissipation: a quarter of the largest diffusion.
inline constexpr double dissipation = 0.25;

// A cube of points, the outermost of which lie on its boundary, and the time step.
struct Grid {
  int points = 0;  // along each dimension
  double time_step = 0;

  double spacing() const { return 1.0 / (points - 1); }
  double first_weight() const { return 0.5 * (points - 1); }  // of f(+1) - f(-1), for the first derivative
  double second_weight() const { return 1.0 * (points - 1) * (points - 1); }
};

inline State exact_solution(double x, double y, double z) {
  // Coefficients of 1; x, y, z; their squares, cubes and fourth powers.
  constexpr std::array<std::array<double, 13>, components> polynomial{
      {{2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
       {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
       {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
       {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
       {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2}}};
  const std::array<double, dimensions> at{x, y, z};
  State state{};
  for (std::size_t m = 0; m < components; ++m) {
    const auto& c = polynomial[m];
    state[m] = c[0];
    for (std::size_t d = 0; d < dimensions; ++d)
      state[m] += at[d] * (c[1 + d] + at[d] * (c[4 + d] + at[d] * (c[7 + d] + at[d] * c[10 + d])));
  }
  return state;
}

// Returns the initial state: the exact solution on the boundary, and a smooth function of it inside.
inline State initial_state(double x, double y, double z) {
  const auto on_boundary = [](double coordinate) { return coordinate == 0 || coordinate == 1; };
  if (on_boundary(x) || on_boundary(y) || on_boundary(z)) return exact_solution(x, y, z);
  const State west = exact_solution(0, y, z), east = exact_solution(1, y, z);
  const State south = exact_solution(x, 0, z), north = exact_solution(x, 1, z);
  const State bottom = exact_solution(x, y, 0), top = exact_solution(x, y, 1);
  State state{};
  for (std::size_t m = 0; m < components; ++m) {
    const double along_x = x * east[m] + (1 - x) * west[m];
    const double along_y = y * north[m] + (1 - y) * south[m];
    const double along_z = z * top[m] + (1 - z) * bottom[m];
    state[m] = along_x + along_y + along_z - along_x * along_y - along_x * along_z - along_y * along_z +
               along_x * along_y * along_z;
  }
  return state;
}

// Returns, by component, the root of a sum over all ranks divided by the number of points inside the
// boundary.
inline State root_of_mean(Communicator& world, const State& sums_here, int points) {
  State sums{};
  world.all_reduce(sums_here, sums, MPI_SUM);
  for (double& sum : sums) sum = std::sqrt(sum / std::pow(points - 2, 3));
  return sums;
}

// Returns the fourth difference at `position` of `points` points, as weights of the five points around it.
// Next to the boundary the weights of points beyond it are 0.
inline std::array<double, 5> fourth_difference(int position, int points) {
  if (position == 1) return {0, 0, 5, -4, 1};
  if (position == 2) return {0, -4, 6, -4, 1};
  if (position == points - 3) return {1, -4, 6, -4, 0};
  if (position == points - 2) return {1, -4, 5, 0, 0};
  return {1, -4, 6, -4, 1};
}

// Derivatives of the fluxes and the viscous terms with respect to the solution at a point. T is double for
// one point, or a vector of doubles for several neighbouring points.

// Two doubles, as in the plain vector registers of every 64-bit processor.
using Pair [[gnu::vector_size(2 * sizeof(double))]] = double;

template <typename T>
using Vector = std::array<T, components>;
template <typename T>
using Matrix = std::array<Vector<T>, components>;  // by row, then column

// The quantities of a State that the formulas use.
template <typename T>
struct Point {
  T inverse_density;
  std::array<T, dimensions> velocity;
  T kinetic;          // kinetic energy per unit of mass
  T specific_energy;  // total energy per unit of mass
};

template <typename T>
Point<T> point_of(const Vector<T>& u) {
  const T inverse = 1.0 / u[density];
  const std::array<T, dimensions> w{u[1] * inverse, u[2] * inverse, u[3] * inverse};
  return {inverse, w, 0.5 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), u[energy] * inverse};
}

// Returns the Jacobian of the flux along dimension d: density w; momentum w + pressure along d; (energy +
// pressure) w, where w is the velocity along d and pressure = k2 (energy - kinetic).
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

// Adds `factor` times the Jacobian of the quantities that viscosity acts on (velocities) and heat conduction
// acts on (energy per unit of mass, without kinetic energy). `heat` is the conductivity times the viscosity.
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
