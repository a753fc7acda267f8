// Where a HyperX's switches and links stand, and its ways by arithmetic.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {

struct HyperxShape {
  std::vector<std::int32_t> sizes;
  std::int32_t hosts_per_switch = 1;
  double host_rate = 0, trunk_rate = 0;  // bits/s; of all cables of a trunk
  bool any_order = false;
};

struct HyperxDimension {
  std::int32_t size = 0, stride = 0;
  std::int64_t first_edge = 0;
  // The edge between two switches of a line, i < j being their coordinates, `of` either of them.
  std::int64_t edge(std::int32_t of, std::int32_t i, std::int32_t j) const {
    const std::int64_t line = static_cast<std::int64_t>(of / stride / size) * stride + of % stride;
    return first_edge + line * (static_cast<std::int64_t>(size) * (size - 1) / 2) + pair_index(i, j, size);
  }
};

struct HyperxNumbers {
  explicit HyperxNumbers(const HyperxShape& shape);
  std::string name(std::int32_t at) const;
  std::vector<HyperxDimension> dimensions;
  std::int32_t switches = 0;
};

std::unique_ptr<Router> make_hyperx_router(const HyperxNumbers& numbers, const HyperxShape& shape,
                                           Spread spread, std::uint64_t seed);

}  // namespace crosscut::networks::generators
