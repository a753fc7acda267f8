// Ways through a tree by arithmetic: up to the lowest level that both hosts share, then down the only way.
#pragma once

#include <memory>

#include "networks/generators/fat_tree.hpp"

namespace crosscut::networks::generators {

// Where everything stands, level by level (0: hosts).
struct TreeNumbers {
  explicit TreeNumbers(const TreeShape& shape);
  std::vector<std::int32_t> below;       // hosts below a switch of the level; 1 for hosts
  std::vector<std::int32_t> width;       // switches of the level with the same hosts below
  std::vector<Vertex> first_vertex;      // [level]; one more: the number of vertices
  std::vector<std::int64_t> first_edge;  // [level] of the links to the next level
  // Vertices of a level, hosts included.
  std::int32_t switches(std::size_t level) const { return below.back() / below[level] * width[level]; }
};

std::unique_ptr<Router> make_tree_router(const TreeShape& shape, Spread spread, std::uint64_t seed);

}  // namespace crosscut::networks::generators
