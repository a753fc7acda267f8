#include "npb/multipartition/block.hpp"

namespace crosscut::npb::multipartition {

Block::Block(const Cell& its_cell, const Grid& its_grid)
    : cell(its_cell),
      grid(its_grid),
      shape(its_cell.extent),
      inverse_density(shape.size()),
      kinetic(shape.size()),
      pressure(shape.size()) {
  for (std::size_t m = 0; m < components; ++m) {
    // Around the cell some points are never set, and computed with all the same: a gas at rest does no harm.
    solution[m].assign(shape.size(), m == density || m == energy ? 1.0 : 0.0);
    right[m].assign(shape.size(), 0.0);
    forcing[m].assign(shape.size(), 0.0);
  }
  for (Values& one : velocity) one.assign(shape.size(), 0.0);
}

double Block::coordinate(std::size_t dimension, Index i) const {
  const int position = cell.first[dimension] + static_cast<int>(i);
  // 1 is the boundary, and must be met.
  return position == grid.points - 1 ? 1.0 : position * grid.spacing();
}

}  // namespace crosscut::npb::multipartition
