// How the grids of MG are shared by the ranks of a three-dimensional grid, level by level, as in NPB's MPI
// version (NPB 3.3, MG/mg.f, setup). On a level with fewer points than ranks along a dimension some ranks
// have none: they are idle there, and are given their part again when the solution comes back to a level
// where they have points.
#pragma once

#include <array>
#include <vector>

namespace crosscut::npb::mg {

inline constexpr int dimensions = 3;
using Triple = std::array<int, dimensions>;

struct Level {
  Triple points{};  // of the whole grid
  Triple extent{};  // of this rank's part, with a layer around it: 2 where it has none
  bool idle = false;
  // The nearest ranks that have points, below and above, along each dimension.
  std::array<std::array<int, 2>, dimensions> neighbours{};
  // Along this dimension, this rank interpolates for a neighbour that was idle one level below; or is the
  // neighbour.
  std::array<bool, dimensions> gives{};
  std::array<bool, dimensions> is_given{};
};

class Levels {
 public:
  // Cubes of 2^count points a side; `ranks` is a power of two.
  Levels(int count, int rank, int ranks);

  // 1 is the coarsest.
  const Level& operator[](int number) const { return levels_[static_cast<std::size_t>(number)]; }
  int finest() const { return static_cast<int>(levels_.size()) - 1; }
  Triple ranks() const { return ranks_; }
  // Of this rank's part of the finest grid, from 0.
  Triple first_point() const;

 private:
  void share(int number, Triple& stride);
  int rank_at(Triple place) const;

  Triple ranks_;
  Triple place_;
  std::vector<Level> levels_;
};

}  // namespace crosscut::npb::mg
