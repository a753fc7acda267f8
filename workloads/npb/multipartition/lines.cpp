#include "npb/multipartition/lines.hpp"

#include <algorithm>

namespace crosscut::npb::multipartition {

Lines::Lines(const Block& block, std::size_t dimension)
    : dimension_(dimension), length_(block.cell.extent[dimension]) {
  const std::size_t inner = dimension == 0 ? 1 : 0;
  const std::size_t outer = dimension == 2 ? 1 : 2;
  const Cell& cell = block.cell;
  for (int b = cell.begin[outer]; b < cell.end[outer]; ++b)
    for (int a = cell.begin[inner]; a < cell.end[inner]; ++a, ++count_) {
      Triple at{};
      at[inner] = a;
      at[outer] = b;
      if (count_ % width == 0) bundles_.push_back({.stride = block.shape.stride(dimension)});
      Bundle& last = bundles_.back();
      std::fill(last.starts.begin() + static_cast<std::ptrdiff_t>(last.lines), last.starts.end(),
                block.shape.at(at[0], at[1], at[2]));
      ++last.lines;
    }
}

}  // namespace crosscut::npb::multipartition
