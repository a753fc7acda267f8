// Halves of the hosts with little between them.
#pragma once

#include <cstdint>
#include <vector>

#include "networks/routers.hpp"

namespace crosscut::networks {

using Side = std::uint8_t;  // 0 or 1

// Moves vertices, one at a time, between the sides as long as less is cut, and returns where the cut was
// least with halves of hosts (Fiduccia and Mattheyses 1982; switches weigh nothing, and may stand on either
// side). sides: [vertex], the hosts halved.
void refine_cut(const Graph& graph, const Adjacency& adjacency, std::vector<Side>& sides);

// Starts worth refining: hosts in their order; groups, hosts of a switch, or single hosts in orders drawn by
// lot (always the same ones).
std::vector<std::vector<Side>> cut_starts(const Graph& graph, const Adjacency& adjacency, int random_starts);

}  // namespace crosscut::networks
