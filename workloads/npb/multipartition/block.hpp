// A rank's data at the points of one cell.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "npb/multipartition/partition.hpp"

namespace crosscut::npb::multipartition {

using Index = std::ptrdiff_t;
using Values = std::vector<double>;

// Storage index of the point (i, j, k) of a cell: x is contiguous; two layers of points surround the cell.
class Shape {
 public:
  static constexpr Index layers = 2;

  explicit Shape(const Triple& extent)
      : strides_{1, extent[0] + 2 * layers, (extent[0] + 2 * layers) * (extent[1] + 2 * layers)},
        size_(static_cast<std::size_t>(strides_[2] * (extent[2] + 2 * layers))) {}

  Index stride(std::size_t dimension) const { return strides_[dimension]; }
  Index at(Index i, Index j, Index k) const {
    return i + layers + strides_[1] * (j + layers) + strides_[2] * (k + layers);
  }
  std::size_t size() const { return size_; }

 private:
  std::array<Index, dimensions> strides_;
  std::size_t size_;
};

struct Block {
  Block(const Cell& its_cell, const Grid& its_grid)
      : cell(its_cell),
        grid(its_grid),
        shape(its_cell.extent),
        inverse_density(shape.size()),
        kinetic(shape.size()),
        pressure(shape.size()) {
    for (std::size_t m = 0; m < components; ++m) {
      // Some points around the cell are never set, but computed with: a gas at rest does no harm.
      solution[m].assign(shape.size(), m == density || m == energy ? 1.0 : 0.0);
      right[m].assign(shape.size(), 0.0);
      forcing[m].assign(shape.size(), 0.0);
    }
    for (Values& one : velocity) one.assign(shape.size(), 0.0);
  }

  Cell cell;
  Grid grid;
  Shape shape;
  std::array<Values, components> solution;
  std::array<Values, components> right;    // right-hand side; finally, the change of the solution
  std::array<Values, components> forcing;  // 0 on the boundary
  // Derived from the solution, in the cell and one layer around it.
  Values inverse_density;
  std::array<Values, dimensions> velocity;
  Values kinetic;  // per unit of mass
  Values pressure;
  Values sound;  // speed of sound; SP only

  // Returns the coordinate of point i, j or k of the cell, or of one beside it.
  double coordinate(std::size_t dimension, Index i) const {
    const int position = cell.first[dimension] + static_cast<int>(i);
    // The boundary must be exactly 1.
    return position == grid.points - 1 ? 1.0 : position * grid.spacing();
  }

  // Calls visit(j, k) for rows of points that are not on the cube's boundary.
  template <typename Visit>
  void for_each_inner_row(Visit&& visit) const {
    for (Index k = cell.begin[2]; k < cell.end[2]; ++k)
      for (Index j = cell.begin[1]; j < cell.end[1]; ++j) visit(j, k);
  }
};

}  // namespace crosscut::npb::multipartition
