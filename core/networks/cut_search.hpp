// Searches for halves of the hosts with little capacity between them.
#pragma once

#include <cstdint>
#include <vector>

#include "networks/routers.hpp"

namespace crosscut::networks {

using Side = std::uint8_t;  // 0 or 1

// Moves single vertices between the sides as long as the cut shrinks, and returns the smallest cut with equal
// halves of hosts in `sides` (Fiduccia and Mattheyses 1982; switches have no weight and may be on either
// side). sides: [vertex], with the hosts halved.
void refine_cut(const Graph& graph, const Adjacency& adjacency, std::vector<Side>& sides);

// Returns partitions worth refining: hosts in their order; and groups, hosts of a switch, or single hosts in
// random orders (the same every time).
std::vector<std::vector<Side>> cut_starts(const Graph& graph, const Adjacency& adjacency, int random_starts);

}  // namespace crosscut::networks
