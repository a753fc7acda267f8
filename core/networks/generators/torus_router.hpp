// Ways through a grid by arithmetic: dimension after dimension, each the shorter way round, or
// the only one.
#pragma once

#include <memory>

#include "networks/generators/torus.hpp"

namespace crosscut::networks::generators {

// Edges of one line of vertices in a dimension.
inline std::int32_t lines_edges(std::int32_t size, bool wrap) { return wrap && size > 2 ? size : size - 1; }

struct TorusDimension {
  std::int32_t size = 0, stride = 0;  // stride: between neighbours, in vertices
  std::int32_t line = 0;              // edges of a line
  bool wraps = false;
  bool one_way = false;
  std::int64_t first_edge = 0;
  // The edge from the vertex to the next one up.
  std::int64_t edge(std::int32_t vertex) const {
    const std::int32_t low = vertex % stride, at = vertex / stride % size, high = vertex / stride / size;
    return first_edge + (static_cast<std::int64_t>(high) * line + at) * stride + low;
  }
};

struct TorusNumbers {
  explicit TorusNumbers(const TorusShape& shape);
  std::vector<TorusDimension> dimensions;
  std::int32_t vertices = 0, hosts_per_switch = 0;
};

std::unique_ptr<Router> make_torus_router(const TorusNumbers& numbers, Spread spread, std::uint64_t seed);

}  // namespace crosscut::networks::generators
