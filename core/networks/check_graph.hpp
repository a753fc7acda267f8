// Checks that every network, listed or generated, must pass before it is used.
#pragma once

#include "networks/explicit_graph.hpp"
#include "networks/network.hpp"
#include "networks/reading.hpp"

namespace crosscut::networks {

// Adds a mistake for each host without a link, each host that cannot reach another, and each switch with more
// links than ports.
void check_graph(const Graph& graph, const Lines& lines, Mistakes& mistakes);

}  // namespace crosscut::networks
