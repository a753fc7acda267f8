#include "npb/multipartition/partition.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace crosscut::npb::multipartition {

namespace {

int modulo(int number, int divisor) { return ((number % divisor) + divisor) % divisor; }

int side_of_square(int ranks) {
  const int side = square_root(ranks);
  if (side == 0)
    throw std::invalid_argument("a partition for " + std::to_string(ranks) + " ranks, no square");
  return side;
}

Cell make_cell(const Triple& place, int side, int points) {
  Cell cell{.place = place};
  for (std::size_t d = 0; d < dimensions; ++d) {
    const int smaller = points / side;
    const int larger_cells = points % side;  // the first ones have a point more
    cell.extent[d] = smaller + (place[d] < larger_cells ? 1 : 0);
    cell.first[d] = place[d] * smaller + std::min(place[d], larger_cells);
    cell.begin[d] = place[d] == 0 ? 1 : 0;
    cell.end[d] = cell.extent[d] - (place[d] == side - 1 ? 1 : 0);
  }
  return cell;
}

}  // namespace

int square_root(int number) {
  for (int root = 1; root <= number / root; ++root)
    if (root * root == number) return root;
  return 0;
}

Partition::Partition(int points, int rank, int ranks)
    : points_(points), side_(side_of_square(ranks)), column_(rank % side_), row_(rank / side_) {
  for (int layer = 0; layer < side_; ++layer)
    cells_.push_back(
        make_cell({modulo(column_ + layer, side_), modulo(row_ - layer, side_), layer}, side_, points));
}

std::size_t Partition::cell_at(std::size_t dimension, int place) const {
  const auto found =
      std::ranges::find_if(cells_, [&](const Cell& cell) { return cell.place[dimension] == place; });
  return static_cast<std::size_t>(found - cells_.begin());
}

// The cell at (x, y, z) is in column x - z and row y + z of the ranks.
int Partition::neighbour(std::size_t dimension, int step) const {
  const std::array<int, dimensions> columns{step, 0, -step}, rows{0, step, step};
  return modulo(column_ + columns[dimension], side_) + side_ * modulo(row_ + rows[dimension], side_);
}

}  // namespace crosscut::npb::multipartition
