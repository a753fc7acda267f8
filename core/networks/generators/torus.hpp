// Grids of any dimension, with or without wrap-around links: torus, mesh, ring, hypercube. The vertices are
// hosts that pass messages on (SCI), or switches with hosts.
#pragma once

#include <string>
#include <vector>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {

struct TorusShape {
  std::vector<std::int32_t> sizes;    // [dimension]
  bool one_way = false;               // rings lead only from each vertex to the next one up
  bool wrap = true;                   // closes lines of more than 2 vertices to rings
  std::int32_t hosts_per_switch = 0;  // 0: the vertices are hosts
  double host_rate = 0, rate = 0;     // bits/s; a host's link to its switch, links between vertices
};

// Fills in graph, router and closed forms.
void make_torus(const TorusShape& shape, std::int64_t vertices_max, Network& network);

// Reads the parameters that torus, ring and hypercube share.
inline void read_common(const program::Parameters& given, TorusShape& shape) {
  shape.hosts_per_switch = count(given, "hosts_per_switch");
  shape.rate = given.real("rate");
  shape.host_rate = rate_or(given, "host_rate", shape.rate);
}
inline program::Parameter torus_hosts_parameter() {
  return count_parameter("hosts_per_switch", "0",
                         "hosts on a switch at each vertex; 0: the vertices are hosts that pass messages on",
                         0);
}
inline program::Parameter torus_one_way_parameter() {
  return {.name = "one_way",
          .kind = program::Parameter::Kind::boolean,
          .initial = "false",
          .help = "true: rings carry one way round only, from each vertex to the next one up, as SCI's do",
          .choices = {}};
}
inline program::Parameter torus_host_rate_parameter() {
  return rate_parameter("host_rate", "",
                        "with hosts_per_switch: rate of each host's link; without it, that of the others");
}

}  // namespace crosscut::networks::generators
