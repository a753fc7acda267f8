// What must hold of any network, listed or generated, before it is used.
#pragma once

#include "networks/explicit_graph.hpp"
#include "networks/network.hpp"
#include "networks/reading.hpp"

namespace crosscut::networks {

// A mistake for each host without a link, host that cannot reach another, switch with more links than ports.
void check_graph(const Graph& graph, const Lines& lines, Mistakes& mistakes);

}  // namespace crosscut::networks
