// The systems of SP (RNR-94-007, section 3): along a line three with five diagonals. The first belongs to
// what the flow carries, three of the five characteristic variables; the others to sound that runs with it
// and against it.
#pragma once

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/lines.hpp"
#include "npb/multipartition/sweep.hpp"
#include "npb/sp/characteristic.hpp"

namespace crosscut::npb::sp {

using namespace multipartition;

inline constexpr std::size_t systems = 3;
inline constexpr std::array<double, systems> sound_sign{0, 1, -1};
// Which of the right hand sides are a system's: from one up to but not including the next's.
inline constexpr std::array<std::size_t, systems + 1> first_right{0, 3, 4, 5};

// What the matrix is made of, at one point of each line.
struct Profile {
  Lanes velocity;
  Lanes spread;
  Lanes sound;
};

// NPB takes the largest of the diffusion of all components, which is that of heat.
inline Profile load_profile(const Block& block, const Bundle& bundle, std::size_t dimension, Index position) {
  Profile profile{bundle.load(block.velocity[dimension], position),
                  bundle.load(block.inverse_density, position), bundle.load(block.sound, position)};
  for (Pair& pair : profile.spread.pair) pair = diffusion[dimension] + conductivity * viscosity * pair;
  return profile;
}

struct Pentadiagonal {
  static constexpr Index carried = 2;
  static constexpr std::size_t uppers = 6;  // two of each system
  static constexpr bool room = false;
  using SystemRow = Row<uppers>;

  static void eliminate(const Block& block, const Bundle& bundle, const Lines& lines, SystemRow* rows) {
    const std::size_t dimension = lines.dimension();
    const Grid& grid = block.grid;
    const double first = grid.time_step * grid.first_weight();
    const double second = grid.time_step * grid.second_weight();
    Profile before{}, here = load_profile(block, bundle, dimension, -1);
    Profile after = load_profile(block, bundle, dimension, 0);
    for (Index p = 0; p < lines.length(); ++p) {
      before = here;
      here = after;
      after = load_profile(block, bundle, dimension, p + 1);
      const int position = block.cell.first[dimension] + static_cast<int>(p);
      if (position == 0 || position == grid.points - 1) {
        rows[p] = {};  // nothing changes on the boundary
        continue;
      }
      for (std::size_t m = 0; m < components; ++m) rows[p].right[m] = bundle.load(block.right[m], p);
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
          eliminate_row(five, s, q, rows + p);
        }
    }
  }

  static void substitute(const Lines& lines, SystemRow* rows) {
    for (SystemRow* row = rows + lines.length() - 1; row >= rows; --row)
      for (std::size_t s = 0; s < systems; ++s)
        for (std::size_t m = first_right[s]; m < first_right[s + 1]; ++m)
          for (std::size_t q = 0; q < pairs; ++q)
            row[0].right[m].pair[q] -= row[0].upper[2 * s].pair[q] * row[1].right[m].pair[q] +
                                       row[0].upper[2 * s + 1].pair[q] * row[2].right[m].pair[q];
  }

  // In the variables of the next dimension. The rows, of which the first are sent on, stay in those of this.
  static void store(Block& block, const Bundle& bundle, const Lines& lines, SystemRow* rows) {
    for (Index p = 0; p < lines.length(); ++p) {
      SystemRow row = rows[p];
      if (lines.dimension() < 2) turn_to_next(lines.dimension(), row.right);
      for (std::size_t m = 0; m < components; ++m) bundle.store(row.right[m], block.right[m], p);
    }
  }

 private:
  // One row from the two before, which have been eliminated. `five` are its numbers from left to right.
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
