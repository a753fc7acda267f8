// Division of MG's grids among a three-dimensional grid of ranks, level by level, as in NPB's MPI version
// (NPB 3.3, MG/mg.f, setup). On a level with fewer points than ranks along a dimension, some ranks have no
// points. They are idle there, and get their part back when the solution returns to a level on which they
// have points.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <vector>

namespace crosscut::npb::mg {

inline constexpr int dimensions = 3;
using Triple = std::array<int, dimensions>;

struct Level {
  Triple points{};  // of the whole grid
  Triple extent{};  // this rank's part, with a layer around it: 2 if it has no points
  bool idle = false;
  // The nearest ranks with points, below and above, along each dimension.
  std::array<std::array<int, 2>, dimensions> neighbours{};
  // Along this dimension, this rank interpolates for a neighbour that was idle one level below (gives), or is
  // that neighbour (is_given).
  std::array<bool, dimensions> gives{};
  std::array<bool, dimensions> is_given{};
};

class Levels {
 public:
  // Makes cubes with 2^1 to 2^count points per side; `ranks` must be a power of two.
  Levels(int count, int rank, int ranks)
      : ranks_(factors(ranks)),
        place_{rank % ranks_[0], rank / ranks_[0] % ranks_[1], rank / (ranks_[0] * ranks_[1])},
        levels_(static_cast<std::size_t>(count) + 1) {
    // Distance between ranks that have points; doubles when a level becomes too coarse for all of them.
    Triple stride{1, 1, 1};
    for (int number = count; number >= 1; --number) share(number, stride);
  }

  // Level 1 is the coarsest.
  const Level& operator[](int number) const { return levels_[static_cast<std::size_t>(number)]; }
  int finest() const { return static_cast<int>(levels_.size()) - 1; }
  const Triple& ranks() const { return ranks_; }
  // Returns the position of this rank's part of the finest grid, from 0.
  Triple first_point() const {
    Triple first{};
    for (std::size_t d = 0; d < dimensions; ++d)
      first[d] = points_before(levels_.back().points[d], ranks_[d], place_[d]);
    return first;
  }

 private:
  // Returns the number of points before place `place` of `places`.
  static int points_before(int points, int places, int place) {
    return static_cast<int>(static_cast<long long>(place) * points / places);
  }

  static Triple factors(int ranks) {
    const int log2 = std::countr_zero(static_cast<unsigned>(ranks));
    const int first = log2 / 3;
    const int second = (log2 - first) / 2;
    return {1 << first, 1 << second, 1 << (log2 - first - second)};
  }

  void share(int number, Triple& stride) {
    Level& level = levels_[static_cast<std::size_t>(number)];
    for (std::size_t d = 0; d < dimensions; ++d) {
      const int points = 1 << number;
      const auto own = [&](int place) {
        return points_before(points, ranks_[d], place + 1) - points_before(points, ranks_[d], place);
      };
      const int here = own(place_[d]);
      const int next = own(place_[d] + stride[d]);
      level.points[d] = points;
      level.extent[d] = here + 2;
      level.idle = level.idle || here == 0;
      if (here == 0 || next == 0) stride[d] *= 2;
      if (number < finest()) {
        Level& finer = levels_[static_cast<std::size_t>(number) + 1];
        finer.gives[d] = next == 0 && here == 1;
        finer.is_given[d] = next == 1 && here == 0;
      }
      for (std::size_t side = 0; side < 2; ++side) {
        Triple place = place_;
        place[d] = (place[d] + (side == 0 ? -stride[d] : stride[d]) + ranks_[d]) % ranks_[d];
        level.neighbours[d][side] = place[0] + ranks_[0] * (place[1] + ranks_[1] * place[2]);
      }
    }
  }

  Triple ranks_;
  Triple place_;
  std::vector<Level> levels_;
};

}  // namespace crosscut::npb::mg
