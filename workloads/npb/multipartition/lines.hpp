// The lines of a cell along a dimension on which there is something to solve: those that are not on the
// boundary of the cube.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "npb/common/gas.hpp"
#include "npb/multipartition/block.hpp"

namespace crosscut::npb::multipartition {

// Lines are solved side by side, since along a line each point waits for the one before: two in a vector
// register, and some registers one after another, so that one's divisions are done while others multiply.
inline constexpr std::size_t pairs = 4;
inline constexpr std::size_t width = 2 * pairs;

// One number of each of so many lines.
struct Lanes {
  Pair pair[pairs];

  double get(std::size_t lane) const { return pair[lane / 2][lane % 2]; }
  void set(std::size_t lane, double value) { pair[lane / 2][lane % 2] = value; }
};

// Some neighbouring lines.
struct Bundle {
  std::array<Index, width> starts{};  // where the first point of each is kept
  std::size_t lines = 0;              // the last bundle of a cell has fewer; the last line fills it up
  Index stride = 0;                   // between points of a line

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
