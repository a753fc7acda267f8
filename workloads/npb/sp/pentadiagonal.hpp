// The systems of SP (RNR-94-007, section 3): three per line, with five diagonals. The first is for the three
// characteristic variables that the flow transports; the others are for sound along and against the flow.
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/lines.hpp"
#include "npb/multipartition/sweep.hpp"

namespace crosscut::npb::sp {

using namespace multipartition;

// SP diagonalises the equations along each dimension (RNR-94-007, section 3): it solves for characteristic
// variables, which differ for x, y and z. They are the products of a matrix of eigenvectors, or its inverse,
// with the right-hand side, point by point.

inline constexpr double half_root = std::numbers::sqrt2 / 2;

// Pointers to the points of a row, without the boundary.
struct RowOfBlock {
  RowOfBlock(Block& block, Index j, Index k)
      : begin(block.shape.at(block.cell.begin[0], j, k)),
        size(block.cell.end[0] - block.cell.begin[0]),
        u(block.velocity[0].data() + begin),
        v(block.velocity[1].data() + begin),
        w(block.velocity[2].data() + begin),
        kinetic(block.kinetic.data() + begin),
        sound(block.sound.data() + begin) {}

  Index begin;
  Index size;
  const double *u, *v, *w, *kinetic, *sound;
};

// Computes the speed of sound in the cell and one layer around it.
inline void find_sound(Block& block) {
  block.sound.resize(block.shape.size());
  for (Index k = -1; k <= block.cell.extent[2]; ++k)
    for (Index j = -1; j <= block.cell.extent[1]; ++j) {
      const Index begin = block.shape.at(-1, j, k);
      const double* pressure = block.pressure.data() + begin;
      const double* inverse_density = block.inverse_density.data() + begin;
      double* sound = block.sound.data() + begin;
      for (Index i = 0; i < block.cell.extent[0] + 2; ++i)
        sound[i] = std::sqrt(heat_ratio * pressure[i] * inverse_density[i]);
    }
}

// Transforms the right-hand side from components to the variables of x.
inline void to_characteristic_of_x(Block& block) {
  block.for_each_inner_row([&](Index j, Index k) {
    const RowOfBlock at(block, j, k);
    const double* inverse_density = block.inverse_density.data() + at.begin;
    double* __restrict r0 = block.right[0].data() + at.begin;
    double* __restrict r1 = block.right[1].data() + at.begin;
    double* __restrict r2 = block.right[2].data() + at.begin;
    double* __restrict r3 = block.right[3].data() + at.begin;
    double* __restrict r4 = block.right[4].data() + at.begin;
    for (Index i = 0; i < at.size; ++i) {
      const double inverse = inverse_density[i], sound = at.sound[i];
      const double acoustic =
          heat_ratio_less_one / (sound * sound) *
          (at.kinetic[i] * r0[i] - at.u[i] * r1[i] - at.v[i] * r2[i] - at.w[i] * r3[i] + r4[i]);
      const double along = half_root * inverse * (at.u[i] * r0[i] - r1[i]);
      const double scaled = half_root * inverse * sound * acoustic;
      const double mass = r0[i], across_y = r2[i], across_z = r3[i];
      r0[i] = mass - acoustic;
      r1[i] = -inverse * (at.w[i] * mass - across_z);
      r2[i] = inverse * (at.v[i] * mass - across_y);
      r3[i] = scaled - along;
      r4[i] = scaled + along;
    }
  });
}

// Transforms the right-hand side from the variables of z to components.
inline void from_characteristic_of_z(Block& block) {
  block.for_each_inner_row([&](Index j, Index k) {
    const RowOfBlock at(block, j, k);
    const double* mass = block.solution[density].data() + at.begin;
    double* __restrict r0 = block.right[0].data() + at.begin;
    double* __restrict r1 = block.right[1].data() + at.begin;
    double* __restrict r2 = block.right[2].data() + at.begin;
    double* __restrict r3 = block.right[3].data() + at.begin;
    double* __restrict r4 = block.right[4].data() + at.begin;
    for (Index i = 0; i < at.size; ++i) {
      const double sound = at.sound[i], scale = half_root * mass[i];
      const double acoustic = scale / sound * (r3[i] + r4[i]);
      const double total = r2[i] + acoustic;
      const double along = scale * (r3[i] - r4[i]);
      const double shear_x = mass[i] * r1[i], shear_y = mass[i] * r0[i];
      r0[i] = total;
      r1[i] = at.u[i] * total - shear_x;
      r2[i] = at.v[i] * total + shear_y;
      r3[i] = at.w[i] * total + along;
      r4[i] = at.v[i] * shear_y - at.u[i] * shear_x + at.kinetic[i] * total +
              sound * sound / heat_ratio_less_one * acoustic + at.w[i] * along;
    }
  });
}

// Transforms the right-hand side from the variables of dimension x or y to those of the next dimension.
inline void turn_to_next(std::size_t dimension, Lanes (&right)[components]) {
  const std::size_t first = dimension, second = dimension + 1, across = dimension == 0 ? 2 : 0;
  for (std::size_t q = 0; q < pairs; ++q) {
    const Pair a = right[first].pair[q], b = right[second].pair[q], c = half_root * right[across].pair[q];
    const Pair difference = half_root * (right[3].pair[q] - right[4].pair[q]);
    const Pair mean = 0.5 * (right[3].pair[q] + right[4].pair[q]);
    right[first].pair[q] = -b;
    right[second].pair[q] = a;
    right[across].pair[q] = difference;
    right[3].pair[q] = mean - c;
    right[4].pair[q] = mean + c;
  }
}

inline constexpr std::size_t systems = 3;
inline constexpr std::array<double, systems> sound_sign{0, 1, -1};
// A system's right-hand sides: from its entry up to but not including the next one's.
inline constexpr std::array<std::size_t, systems + 1> first_right{0, 3, 4, 5};

struct Pentadiagonal {
  static constexpr Index carried = 2;
  static constexpr std::size_t uppers = 6;  // two per system
  static constexpr bool room = false;
  using SystemRow = Row<uppers>;

  struct Terms {
    Lanes velocity;
    Lanes spread;
    Lanes sound;
  };

  // As in NPB, uses the largest diffusion of all components, which is that of heat.
  static void find(const Block& block, const Bundle& bundle, std::size_t dimension, Index position,
                   Terms& terms) {
    terms = {bundle.load(block.velocity[dimension], position), bundle.load(block.inverse_density, position),
             bundle.load(block.sound, position)};
    for (Pair& pair : terms.spread.pair) pair = diffusion[dimension] + conductivity * viscosity * pair;
  }

  static void eliminate(const Terms& before, const Terms& here, const Terms& after, int position,
                        const Grid& grid, SystemRow* row) {
    const double first = grid.time_step * grid.first_weight();
    const double second = grid.time_step * grid.second_weight();
    auto weights = fourth_difference(position, grid.points);
    for (double& weight : weights) weight *= grid.time_step * dissipation;
    for (std::size_t q = 0; q < pairs; ++q)
      for (std::size_t s = 0; s < systems; ++s) {
        const Pair speed_before = before.velocity.pair[q] + sound_sign[s] * before.sound.pair[q];
        const Pair speed_after = after.velocity.pair[q] + sound_sign[s] * after.sound.pair[q];
        const Pair five[5] = {
            Pair{} + weights[0], weights[1] - first * speed_before - second * before.spread.pair[q],
            weights[2] + 1.0 + 2 * second * here.spread.pair[q],
            weights[3] + first * speed_after - second * after.spread.pair[q], Pair{} + weights[4]};
        eliminate_row(five, s, q, row);
      }
  }

  static void substitute(const Lines& lines, SystemRow* rows) {
    for (SystemRow* row = rows + lines.length - 1; row >= rows; --row)
      for (std::size_t s = 0; s < systems; ++s)
        for (std::size_t m = first_right[s]; m < first_right[s + 1]; ++m)
          for (std::size_t q = 0; q < pairs; ++q)
            row[0].right[m].pair[q] -= row[0].upper[2 * s].pair[q] * row[1].right[m].pair[q] +
                                       row[0].upper[2 * s + 1].pair[q] * row[2].right[m].pair[q];
  }

  // Transforms into the variables of the next dimension.
  static void turn(std::size_t dimension, Lanes (&right)[components]) {
    if (dimension < 2) turn_to_next(dimension, right);
  }

 private:
  // Eliminates a row with the two eliminated rows before it. `five` are its numbers from left to right.
  static void eliminate_row(const Pair (&five)[5], std::size_t system, std::size_t q, SystemRow* row) {
    const auto *far = row - 2, *near = row - 1;
    const std::size_t u = 2 * system;
    const Pair left = five[1] - five[0] * far->upper[u].pair[q];
    const Pair diagonal = five[2] - five[0] * far->upper[u + 1].pair[q] - left * near->upper[u].pair[q];
    const Pair inverse = 1.0 / diagonal;
    row->upper[u].pair[q] = inverse * (five[3] - left * near->upper[u + 1].pair[q]);
    row->upper[u + 1].pair[q] = inverse * five[4];
    for (std::size_t m = first_right[system]; m < first_right[system + 1]; ++m)
      row->right[m].pair[q] =
          inverse * (row->right[m].pair[q] - five[0] * far->right[m].pair[q] - left * near->right[m].pair[q]);
  }
};

}  // namespace crosscut::npb::sp
