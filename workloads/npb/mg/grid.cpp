#include "npb/mg/grid.hpp"

#include <algorithm>

namespace crosscut::npb::mg {

Grid::Grid(Triple extent)
    : extent_{static_cast<std::size_t>(extent[0]), static_cast<std::size_t>(extent[1]),
              static_cast<std::size_t>(extent[2])},
      values_(extent_[0] * extent_[1] * extent_[2]) {}

void Grid::clear() { std::ranges::fill(values_, 0.0); }

void Grid::copy_out(const Box& box, std::span<double> values) const {
  auto to = values.begin();
  for (std::size_t k = box.begin[2]; k < box.end[2]; ++k)
    for (std::size_t j = box.begin[1]; j < box.end[1]; ++j)
      to = std::copy(row(j, k) + box.begin[0], row(j, k) + box.end[0], to);
}

void Grid::copy_in(const Box& box, std::span<const double> values) {
  auto from = values.begin();
  const auto length = static_cast<std::ptrdiff_t>(box.end[0] - box.begin[0]);
  for (std::size_t k = box.begin[2]; k < box.end[2]; ++k)
    for (std::size_t j = box.begin[1]; j < box.end[1]; ++j, from += length)
      std::copy(from, from + length, row(j, k) + box.begin[0]);
}

}  // namespace crosscut::npb::mg
