// Where a dragonfly's routers and links stand, and its ways by arithmetic.
#pragma once

#include <memory>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {

// Kim, Dally, Scott and Abts, Technology-Driven, Highly-Scalable Dragonfly Topology (ISCA 2008), with their
// letters: p hosts, a routers in a group, h global links of a router, g groups.
//
// Which router has which global link: group i counts the other groups i + 1, i + 2, .. (modulo g), and its
// global ports c = 0, 1, .. reach them in this order, again and again while a whole round is left; port c
// belongs to router c / h. Camarero, Vallejo and Beivide (ACM TACO 2014) call it the palmtree arrangement,
// counted upwards.
struct DragonflyNumbers {
  std::int32_t p = 1, a = 1, h = 1, g = 1;
  std::int32_t copies() const { return g > 1 ? a * h / (g - 1) : 0; }  // global links of two groups
  std::int32_t hosts() const { return p * a * g; }
  std::int32_t routers() const { return a * g; }
  // The router, within group `from`, that has copy `copy` of the links to group `to`.
  std::int32_t router_to(std::int32_t from, std::int32_t to, std::int32_t copy) const {
    const std::int32_t offset = to > from ? to - from : to - from + g;
    return (offset - 1 + (g - 1) * copy) / h;
  }
  std::int64_t local_edge(std::int32_t group, std::int32_t i, std::int32_t j) const {
    return hosts() + group * (static_cast<std::int64_t>(a) * (a - 1) / 2) + pair_index(i, j, a);
  }
  std::int64_t global_edge(std::int32_t i, std::int32_t j, std::int32_t copy) const {
    return hosts() + g * (static_cast<std::int64_t>(a) * (a - 1) / 2) + pair_index(i, j, g) * copies() + copy;
  }
};

std::unique_ptr<Router> make_dragonfly_router(const DragonflyNumbers& numbers, Spread spread,
                                              std::uint64_t seed);

}  // namespace crosscut::networks::generators
