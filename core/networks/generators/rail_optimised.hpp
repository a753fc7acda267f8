// Where the links of a rail-optimised network stand, and its ways by arithmetic.
#pragma once

#include <memory>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {

struct RailNumbers {
  std::int32_t rails = 1, hosts_per_pod = 1, pods = 1, spines = 1;
  std::int32_t uplinks = 1;  // cables from each rail switch to each spine
  std::int32_t hosts() const { return hosts_per_pod * pods; }
  std::int32_t rail_switches() const { return pods * rails; }
  std::int64_t host_edge(Vertex host, std::int32_t rail) const {
    return static_cast<std::int64_t>(host) * rails + rail;
  }
  // Port 0 .. spines * uplinks - 1 of a rail switch; it leads to spine port % spines.
  std::int64_t spine_edge(std::int32_t rail_switch, std::int32_t port) const {
    return host_edge(hosts(), 0) + static_cast<std::int64_t>(rail_switch) * spines * uplinks + port;
  }
};

std::unique_ptr<Router> make_rail_router(const RailNumbers& numbers, Spread spread, std::uint64_t seed);

}  // namespace crosscut::networks::generators
