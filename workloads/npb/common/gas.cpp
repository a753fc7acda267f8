#include "npb/common/gas.hpp"

#include <cmath>

namespace crosscut::npb {

namespace {

constexpr std::size_t coefficients = 13;

// Of 1; x, y, z; their squares, cubes and fourth powers.
constexpr std::array<std::array<double, coefficients>, components> polynomial{
    {{2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
     {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
     {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
     {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
     {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2}}};

bool on_boundary(double coordinate) { return coordinate == 0 || coordinate == 1; }

}  // namespace

State exact_solution(double x, double y, double z) {
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

State initial_state(double x, double y, double z) {
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

State root_of_mean(Communicator& world, const State& sums_here, int points) {
  State sums{};
  world.all_reduce(sums_here, sums, MPI_SUM);
  for (double& sum : sums) sum = std::sqrt(sum / std::pow(points - 2, 3));
  return sums;
}

std::array<double, 5> fourth_difference(int position, int points) {
  if (position == 1) return {0, 0, 5, -4, 1};
  if (position == 2) return {0, -4, 6, -4, 1};
  if (position == points - 3) return {1, -4, 6, -4, 0};
  if (position == points - 2) return {1, -4, 5, 0, 0};
  return {1, -4, 6, -4, 1};
}

}  // namespace crosscut::npb
