// A rank's part of a grid, surrounded by a layer of its neighbours' points.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/mg/levels.hpp"

namespace crosscut::npb::mg {

// A cuboid of points, from `begin` up to but not including `end`.
struct Box {
  std::array<std::size_t, dimensions> begin;
  std::array<std::size_t, dimensions> end;

  std::size_t size() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
};

// The first index is contiguous.
class Grid {
 public:
  explicit Grid(Triple extent)
      : extent_{static_cast<std::size_t>(extent[0]), static_cast<std::size_t>(extent[1]),
                static_cast<std::size_t>(extent[2])},
        values_(extent_[0] * extent_[1] * extent_[2]) {}

  std::size_t extent(std::size_t dimension) const { return extent_[dimension]; }
  Box all() const { return {{0, 0, 0}, extent_}; }
  double* row(std::size_t j, std::size_t k) { return values_.data() + (k * extent_[1] + j) * extent_[0]; }
  const double* row(std::size_t j, std::size_t k) const {
    return values_.data() + (k * extent_[1] + j) * extent_[0];
  }

  // Calls visit(j, k) for each row inside the layer.
  template <typename Visit>
  void for_each_inner_row(Visit&& visit) const {
    for (std::size_t k = 1; k + 1 < extent_[2]; ++k)
      for (std::size_t j = 1; j + 1 < extent_[1]; ++j) visit(j, k);
  }

  void clear() { std::ranges::fill(values_, 0.0); }

  void copy_out(const Box& box, std::span<double> values) const {
    double* to = values.data();
    for (std::size_t k = box.begin[2]; k < box.end[2]; ++k)
      for (std::size_t j = box.begin[1]; j < box.end[1]; ++j)
        to = copy(row(j, k) + box.begin[0], box.end[0] - box.begin[0], to);
  }
  void copy_in(const Box& box, std::span<const double> values) {
    const double* from = values.data();
    const std::size_t length = box.end[0] - box.begin[0];
    for (std::size_t k = box.begin[2]; k < box.end[2]; ++k)
      for (std::size_t j = box.begin[1]; j < box.end[1]; ++j, from += length)
        copy(from, length, row(j, k) + box.begin[0]);
  }

 private:
  // Rows of a layer across the first dimension have one point: too few to call a function for.
  static double* copy(const double* from, std::size_t count, double* to) {
    if (count == 1) {
      *to = *from;
      return to + 1;
    }
    return std::copy_n(from, count, to);
  }

  std::array<std::size_t, dimensions> extent_;
  std::vector<double> values_;
};

}  // namespace crosscut::npb::mg
