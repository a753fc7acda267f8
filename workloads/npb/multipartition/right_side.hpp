// The right-hand side of SP and BT: the discretised equations without their time derivative (RNR-94-007,
// section 3).
#pragma once

#include "npb/multipartition/block.hpp"

namespace crosscut::npb::multipartition {

// A row of points that are not on the boundary. Each function below adds to each point `weight` times a
// difference along the dimension in which neighbouring points are `stride` apart.
struct InnerRow {
  Index begin;
  Index size;
  Index stride;
};

// Returns a function of a point: one value, or the product of two.
inline auto of(const Values& f, const InnerRow& row) {
  return [at = f.data() + row.begin](Index i) { return at[i]; };
}
inline auto of(const Values& f, const Values& g, const InnerRow& row) {
  return [a = f.data() + row.begin, b = g.data() + row.begin](Index i) { return a[i] * b[i]; };
}

// Adds weight (f(+1) - f(-1)).
template <typename Function>
void add_first(const InnerRow& row, double weight, Function f, Values& sum) {
  double* __restrict out = sum.data() + row.begin;
  for (Index i = 0; i < row.size; ++i) out[i] += weight * (f(i + row.stride) - f(i - row.stride));
}

// Adds weight (f(+1) - 2 f + f(-1)).
template <typename Function>
void add_second(const InnerRow& row, double weight, Function f, Values& sum) {
  double* __restrict out = sum.data() + row.begin;
  const Index s = row.stride;
  for (Index i = 0; i < row.size; ++i) out[i] += weight * (f(i + s) - 2 * f(i) + f(i - s));
}

inline void add_fourth(const InnerRow& row, double weight, const std::array<double, 5>& difference,
                       const Values& f, Values& sum) {
  const double* at = f.data() + row.begin;
  double* __restrict out = sum.data() + row.begin;
  const Index s = row.stride;
  const auto [w0, w1, w2, w3, w4] = difference;
  for (Index i = 0; i < row.size; ++i)
    out[i] +=
        weight * (w0 * at[i - 2 * s] + w1 * at[i - s] + w2 * at[i] + w3 * at[i + s] + w4 * at[i + 2 * s]);
}

inline void add_momentum(const Block& block, const InnerRow& row, std::size_t across, std::size_t which,
                         std::array<Values, components>& sum) {
  const double viscous = viscosities(across)[which] * block.grid.second_weight();
  const double flux = -block.grid.first_weight();
  Values& out = sum[momentum(which)];
  add_second(row, viscous, of(block.velocity[which], row), out);
  add_first(row, flux, of(block.solution[momentum(which)], block.velocity[across], row), out);
  if (which == across) add_first(row, flux, of(block.pressure, row), out);
}

inline void add_energy(const Block& block, const InnerRow& row, std::size_t across,
                       std::array<Values, components>& sum) {
  const double viscous = viscosity * block.grid.second_weight();
  const double flux = -block.grid.first_weight();
  const Values& velocity = block.velocity[across];
  Values& out = sum[energy];
  add_second(row, viscous * (1 - conductivity), of(block.kinetic, row), out);
  add_second(row, viscous / 6, of(velocity, velocity, row), out);
  add_second(row, viscous * conductivity, of(block.solution[energy], block.inverse_density, row), out);
  add_first(row, flux, of(block.solution[energy], velocity, row), out);
  add_first(row, flux, of(block.pressure, velocity, row), out);
}

// Along x, the points of a row have different positions: those next to the boundary are handled one by one.
inline void add_dissipation_along_x(const Block& block, const InnerRow& row,
                                    std::array<Values, components>& sum) {
  const int first = block.cell.first[0] + block.cell.begin[0];
  const int points = block.grid.points;
  const auto one_by_one = [&](Index i) {
    const auto difference = fourth_difference(first + static_cast<int>(i), points);
    for (std::size_t m = 0; m < components; ++m)
      add_fourth({row.begin + i, 1, row.stride}, -dissipation, difference, block.solution[m], sum[m]);
  };
  Index low = 0, high = row.size;
  while (low < high && first + low < 3) one_by_one(low++);
  while (high > low && first + high > points - 3) one_by_one(--high);
  const auto difference = fourth_difference(points / 2, points);
  for (std::size_t m = 0; m < components; ++m)
    add_fourth({row.begin + low, high - low, row.stride}, -dissipation, difference, block.solution[m],
               sum[m]);
}

inline void add_row(const Block& block, Index j, Index k, std::array<Values, components>& sum) {
  const Cell& cell = block.cell;
  const std::array<Index, dimensions> local{0, j, k};
  for (std::size_t d = 0; d < dimensions; ++d) {
    const InnerRow row{block.shape.at(cell.begin[0], j, k), cell.end[0] - cell.begin[0],
                       block.shape.stride(d)};
    for (std::size_t m = 0; m < components; ++m)
      add_second(row, diffusion[d] * block.grid.second_weight(), of(block.solution[m], row), sum[m]);
    add_first(row, -block.grid.first_weight(), of(block.solution[momentum(d)], row), sum[density]);
    for (std::size_t c = 0; c < dimensions; ++c) add_momentum(block, row, d, c, sum);
    add_energy(block, row, d, sum);
    if (d == 0) {
      add_dissipation_along_x(block, row, sum);
      continue;
    }
    const auto difference = fourth_difference(cell.first[d] + static_cast<int>(local[d]), block.grid.points);
    for (std::size_t m = 0; m < components; ++m)
      add_fourth(row, -dissipation, difference, block.solution[m], sum[m]);
  }
}

// Derives velocity, pressure and so on from the solution, in the cell and one layer around it.
inline void find_derived(Block& block) {
  const auto at = [](auto& values, Index begin) { return values.data() + begin; };
  for (Index k = -1; k <= block.cell.extent[2]; ++k)
    for (Index j = -1; j <= block.cell.extent[1]; ++j) {
      const Index begin = block.shape.at(-1, j, k);
      const double *mass = at(block.solution[density], begin), *total = at(block.solution[energy], begin);
      const double *x = at(block.solution[1], begin), *y = at(block.solution[2], begin),
                   *z = at(block.solution[3], begin);
      double* __restrict inverse = at(block.inverse_density, begin);
      double* __restrict u = at(block.velocity[0], begin);
      double* __restrict v = at(block.velocity[1], begin);
      double* __restrict w = at(block.velocity[2], begin);
      double* __restrict kinetic = at(block.kinetic, begin);
      double* __restrict pressure = at(block.pressure, begin);
      for (Index i = 0; i < block.cell.extent[0] + 2; ++i) {
        const double reciprocal = 1 / mass[i];
        const double moving = 0.5 * (x[i] * x[i] + y[i] * y[i] + z[i] * z[i]) * reciprocal;
        inverse[i] = reciprocal;
        u[i] = x[i] * reciprocal;
        v[i] = y[i] * reciprocal;
        w[i] = z[i] * reciprocal;
        kinetic[i] = moving * reciprocal;
        pressure[i] = heat_ratio_less_one * (total[i] - moving);
      }
    }
}

// Adds fluxes, viscous terms and artificial dissipation along all dimensions, for all points not on the
// boundary. Reads the solution in two layers around the cell, and derived values in one.
inline void add_spatial_terms(const Block& block, std::array<Values, components>& sum) {
  block.for_each_inner_row([&](Index j, Index k) { add_row(block, j, k, sum); });
}

}  // namespace crosscut::npb::multipartition
