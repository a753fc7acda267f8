// A cell's lines along a dimension, without those on the boundary of the cube, where nothing is solved.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "npb/common/gas.hpp"
#include "npb/multipartition/block.hpp"

namespace crosscut::npb::multipartition {

// Vector registers used at once. Lines are solved side by side, since along a line each point waits for the
// previous one: two lines in a vector register, and several registers in turn, so that divisions of one
// overlap with multiplications of others.
inline constexpr std::size_t pairs = 4;
inline constexpr std::size_t width = 2 * pairs;

// One number of each of `width` lines.
struct Lanes {
  Pair pair[pairs];

  double get(std::size_t lane) const { return pair[lane / 2][lane % 2]; }
  void set(std::size_t lane, double value) { pair[lane / 2][lane % 2] = value; }
};

// Several neighbouring lines.
struct Bundle {
  std::array<Index, width> starts{};  // storage index of each line's first point
  // The last bundle of a cell may have fewer; its last line then fills it up.
  std::size_t lines = 0;
  Index stride = 0;  // between points of a line

  Lanes load(const Values& values, Index position) const {
    Lanes lanes;
    const double* at = values.data() + position * stride;
    for (std::size_t lane = 0; lane < width; ++lane) lanes.set(lane, at[starts[lane]]);
    return lanes;
  }
  void store(const Lanes& lanes, Values& values, Index position) const {
    double* at = values.data() + position * stride;
    for (std::size_t lane = 0; lane < lines; ++lane) at[starts[lane]] = lanes.get(lane);
  }
};

struct Lines {
  Lines(const Block& block, std::size_t its_dimension)
      : dimension(its_dimension), length(block.cell.extent[dimension]) {
    const std::size_t inner = dimension == 0 ? 1 : 0;
    const std::size_t outer = dimension == 2 ? 1 : 2;
    const Cell& cell = block.cell;
    for (int b = cell.begin[outer]; b < cell.end[outer]; ++b)
      for (int a = cell.begin[inner]; a < cell.end[inner]; ++a, ++count) {
        Triple at{};
        at[inner] = a;
        at[outer] = b;
        if (count % width == 0) bundles.push_back({.stride = block.shape.stride(dimension)});
        Bundle& last = bundles.back();
        std::fill(last.starts.begin() + static_cast<std::ptrdiff_t>(last.lines), last.starts.end(),
                  block.shape.at(at[0], at[1], at[2]));
        ++last.lines;
      }
  }

  std::size_t dimension;
  Index length;  // points
  std::size_t count = 0;
  std::vector<Bundle> bundles;
};

}  // namespace crosscut::npb::multipartition
