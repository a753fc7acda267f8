// Multipartition, the way in which SP and BT share their grid in NPB's MPI versions (NPB 3.3, make_set): the
// cube is cut into q x q x q cells for q x q ranks, and each rank has q cells, one in every layer across
// every dimension. So all ranks are at work all the time while a line is solved from one end to the other;
// and the next cell along a dimension belongs to the same other rank, whichever cell it is.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "npb/common/gas.hpp"

namespace crosscut::npb::multipartition {

using Triple = std::array<int, dimensions>;

struct Cell {
  Triple place{};   // among the cells
  Triple first{};   // its first point, of all
  Triple extent{};  // points
  // Its points that are not on the boundary of the cube: from `begin` up to but not including `end`, counted
  // from the cell's first.
  Triple begin{};
  Triple end{};
};

class Partition {
 public:
  // Throws std::invalid_argument where `ranks` is not a square.
  Partition(int points, int rank, int ranks);

  int side() const { return side_; }  // cells along a dimension, and of a rank
  int points() const { return points_; }
  const std::vector<Cell>& cells() const { return cells_; }  // by their place along z
  // Which of them is number `place` along the dimension.
  std::size_t cell_at(std::size_t dimension, int place) const;
  // The rank whose cells come after ours along the dimension (`step` 1), or before (-1). Periodic.
  int neighbour(std::size_t dimension, int step) const;
  // The side of a cell for which NPB makes room.
  int cell_room() const { return points_ / side_ + 1; }

 private:
  int points_;
  int side_;
  int column_;
  int row_;
  std::vector<Cell> cells_;
};

// The square root of a square, 0 of another number.
int square_root(int number);

}  // namespace crosscut::npb::multipartition
