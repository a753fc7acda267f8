// The gas of BT, LU and SP (RNR-94-007, section 3): the compressible Navier-Stokes equations on a unit cube,
// made artificial where that makes them simpler, with a forcing term such that a polynomial solves them.
#pragma once

#include <array>
#include <cstddef>

#include "npb/common/communicator.hpp"

namespace crosscut::npb {

inline constexpr std::size_t dimensions = 3;
inline constexpr std::size_t density = 0;
inline constexpr std::size_t energy = 4;
inline constexpr int components = 5;

constexpr std::size_t momentum(std::size_t dimension) { return 1 + dimension; }

// Density, momentum along x, y and z, energy: of a unit of volume.
using State = std::array<double, components>;

// The constants k1 to k5 of the report: 1.4, 0.4, 0.1, 1, 1.4.
inline constexpr double heat_ratio = 1.4;           // k1
inline constexpr double heat_ratio_less_one = 0.4;  // k2
inline constexpr double viscosity = 0.1;            // k3 k4
inline constexpr double conductivity = 1.4 * 1.4;   // k1 k5, as a multiple of the viscosity
inline constexpr double stretching = 4.0 / 3;  // viscosity along the flow, as a multiple of that across it

// Viscosity of the momentum along each dimension, in the flow along `dimension`.
constexpr std::array<double, dimensions> viscosities(std::size_t dimension) {
  std::array<double, dimensions> result{viscosity, viscosity, viscosity};
  result[dimension] *= stretching;
  return result;
}

// Artificial second-order diffusion along each dimension, the same for all components.
inline constexpr std::array<double, dimensions> diffusion{0.75, 0.75, 1.0};
// Artificial fourth-order dissipation: a quarter of the largest of these.
inline constexpr double dissipation = 0.25;

// A cube of points, the outermost of which lie on its boundary, and the step in time.
struct Grid {
  int points = 0;  // along each dimension
  double time_step = 0;

  double spacing() const { return 1.0 / (points - 1); }
  double first_weight() const { return 0.5 * (points - 1); }  // of f(+1) - f(-1), for the first derivative
  double second_weight() const { return 1.0 * (points - 1) * (points - 1); }
};

State exact_solution(double x, double y, double z);

// What the computation begins with: the exact solution on the boundary, and from it something smooth within.
State initial_state(double x, double y, double z);

// The sums over all ranks, as roots of means over the points within the boundary, by component.
State root_of_mean(Communicator& world, const State& sums_here, int points);

// The fourth difference at `position` of so many points, as weights of the five points around it. Next to
// the boundary it is one that does without the points beyond.
std::array<double, 5> fourth_difference(int position, int points);

}  // namespace crosscut::npb
