// Multipartition: how SP and BT share their grid in NPB's MPI versions (NPB 3.3, make_set). The cube is cut
// into q x q x q cells for q x q ranks. Each rank has q cells, one in every layer across every dimension, so
// all ranks work all the time while lines are solved from one end to the other. The next cell along a
// dimension belongs to the same rank for all of a rank's cells.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "npb/common/gas.hpp"

namespace crosscut::npb::multipartition {

using Triple = std::array<int, dimensions>;

struct Cell {
  Triple place{};   // position among the cells
  Triple first{};   // position of its first point in the grid
  Triple extent{};  // number of points
  // Its points that are not on the boundary of the cube: from `begin` up to but not including `end`, counted
  // from the cell's first point.
  Triple begin{};
  Triple end{};
};

// Returns the square root of a square, 0 for any other number.
inline int square_root(int number) {
  for (int root = 1; root <= number / root; ++root)
    if (root * root == number) return root;
  return 0;
}

class Partition {
 public:
  // Throws std::invalid_argument if `ranks` is not a square.
  Partition(int points, int rank, int ranks)
      : side_(square_root(ranks)), cell_room_(side_ == 0 ? 0 : points / side_ + 1) {
    if (side_ == 0)
      throw std::invalid_argument("a partition for " + std::to_string(ranks) + " ranks, not a square");
    column_ = rank % side_;
    row_ = rank / side_;
    for (int layer = 0; layer < side_; ++layer)
      cells_.push_back(make_cell({around(column_ + layer), around(row_ - layer), layer}, points));
  }

  int side() const { return side_; }                         // cells along a dimension, and per rank
  const std::vector<Cell>& cells() const { return cells_; }  // ordered by their place along z
  // Returns the index of the cell at position `place` along the dimension.
  std::size_t cell_at(std::size_t dimension, int place) const {
    const auto found =
        std::ranges::find_if(cells_, [&](const Cell& cell) { return cell.place[dimension] == place; });
    return static_cast<std::size_t>(found - cells_.begin());
  }
  // Returns the rank whose cells follow ours along the dimension (`step` 1) or precede them (-1). Periodic.
  int neighbour(std::size_t dimension, int step) const {
    // The cell at (x, y, z) is in column x - z and row y + z of the ranks.
    const std::array<int, dimensions> columns{step, 0, -step}, rows{0, step, step};
    return around(column_ + columns[dimension]) + side_ * around(row_ + rows[dimension]);
  }
  // Returns the side of a cell for which NPB reserves room.
  int cell_room() const { return cell_room_; }

 private:
  // Returns the number modulo the side, for numbers from -side on.
  int around(int number) const { return (number + side_) % side_; }

  Cell make_cell(const Triple& place, int points) const {
    Cell cell{.place = place};
    for (std::size_t d = 0; d < dimensions; ++d) {
      const int smaller = points / side_;
      const int larger_cells = points % side_;  // the first cells have one point more
      cell.extent[d] = smaller + (place[d] < larger_cells ? 1 : 0);
      cell.first[d] = place[d] * smaller + std::min(place[d], larger_cells);
      cell.begin[d] = place[d] == 0 ? 1 : 0;
      cell.end[d] = cell.extent[d] - (place[d] == side_ - 1 ? 1 : 0);
    }
    return cell;
  }

  int side_;
  int cell_room_;
  int column_ = 0;
  int row_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace crosscut::npb::multipartition
