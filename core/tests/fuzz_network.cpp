// Any network file gives an error, or a network on which messages can be routed, in little time and memory.
#include <cmath>

#include "networks/network.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::tests;

namespace {

constexpr std::int64_t vertices_max = 2000;

void walk(const Network& network, Vertex source, Vertex destination, std::uint64_t key) {
  const Graph& graph = network.graph;
  const RouteRequest request{.source = source, .destination = destination, .key = key};
  std::vector<CapacityIndex> uses;
  const double seconds = network.path(request, uses);
  hold(std::isfinite(seconds) && seconds >= 0, "a latency is a number");
  for (const auto index : uses) {
    hold(index >= 0 && static_cast<std::size_t>(index) < network.capacities().size(), "a capacity is there");
    hold(network.capacities()[static_cast<std::size_t>(index)] > 0, "a capacity is above 0");
    hold(!network.capacity_name(index).empty(), "a capacity has a name");
  }
  if (source == destination) return;
  std::vector<Lane> lanes;
  network.router->route(request, lanes);
  hold(!lanes.empty() && graph.tail(lanes.front()) == source, "a route begins at its source");
  hold(graph.head(lanes.back()) == destination, "a route ends at its destination");
  for (std::size_t i = 1; i < lanes.size(); ++i) {
    const Vertex between = graph.tail(lanes[i]);
    hold(between == graph.head(lanes[i - 1]), "each link begins where the one before ends");
    hold(!graph.is_host(between) || graph.host(between).forwards != Forwarding::no,
         "only hosts that forward are passed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::unique_ptr<Network> network;
  accepts([&] { network = parse_network(text_of(data, size), "fuzz.toml", vertices_max); });
  if (!network) return 0;
  const Graph& graph = network->graph;
  hold(graph.hosts >= 1 && graph.vertices() <= vertices_max, "no more vertices than were allowed");
  const Vertex last = graph.hosts - 1;
  for (const Vertex other : {Vertex{0}, last / 2, last}) {
    // Hosts whose adapters do not meet may be refused only here: there are too many pairs to check all of
    // them earlier.
    accepts([&] { walk(*network, 0, other, size); });
    accepts([&] { walk(*network, last, other, 0); });
  }
  return 0;
}
