// Switches with one host on each port. Hosts of different switches are wired to each other and forward.
//
// Salmon, Stein and Sterling, Scaling of Beowulf-class Distributed Systems, SC98. There are L meta-nodes,
// each a switch of P ports with a host on each port. Every host has C further adapters for wires to hosts of
// other meta-nodes.
#include <array>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {
namespace {

struct MetaNodes {
  std::int32_t meta_nodes = 1, ports = 1, wires = 0;
  std::int32_t hosts() const { return meta_nodes * ports; }
  std::int32_t ends() const { return ports * wires; }  // ends of wires at one meta-node
  std::int32_t others() const { return meta_nodes - 1; }
};

// A wire between meta-nodes i and i + offset (modulo L).
struct Wire {
  std::int32_t from, offset;
};

// Every pair of meta-nodes has floor(P C / (L - 1)) wires. The ends left over at a meta-node go, on both
// sides, to the meta-nodes 1, 2, .. further on. If one end is still left and L is even, it goes to the
// opposite meta-node. If L is odd, meta-nodes are joined in pairs, and the last one keeps a free end.
std::vector<Wire> extra_wires(const MetaNodes& net) {
  const std::int32_t count = net.meta_nodes, left = net.ends() % net.others();
  std::vector<Wire> wires;
  for (std::int32_t offset = 1; offset <= left / 2; ++offset)
    for (std::int32_t i = 0; i < count; ++i) wires.push_back({i, offset});
  if (left % 2 == 1)
    for (std::int32_t i = 0; i < count / 2; ++i) wires.push_back({i, count / 2});
  return wires;
}

// Returns the host of meta-node i whose end leads to meta-node j in a round. A round has one end for each
// other meta-node: i + 1, i + 2, .. (modulo L). A host's ends are consecutive, so they lead to different
// ones.
Vertex host_of_round(const MetaNodes& net, std::int32_t round, std::int32_t i, std::int32_t j) {
  const std::int32_t offset = (j - i + net.meta_nodes) % net.meta_nodes;
  const std::int32_t end = round * net.others() + offset - 1;
  return i * net.ports + end / net.wires;
}

void add_wires(const MetaNodes& net, std::uint16_t link, Graph& graph) {
  const std::int32_t rounds = net.ends() / net.others();
  for (std::int32_t round = 0; round < rounds; ++round)
    for (std::int32_t i = 0; i < net.meta_nodes; ++i)
      for (std::int32_t j = i + 1; j < net.meta_nodes; ++j)
        graph.edges.push_back({host_of_round(net, round, i, j), host_of_round(net, round, j, i), link});
  std::vector<std::int32_t> end(static_cast<std::size_t>(net.meta_nodes), rounds * net.others());
  const auto take = [&](std::int32_t meta_node) {
    return meta_node * net.ports + end[static_cast<std::size_t>(meta_node)]++ / net.wires;
  };
  for (const Wire& wire : extra_wires(net)) {
    const Vertex from = take(wire.from);
    graph.edges.push_back({from, take((wire.from + wire.offset) % net.meta_nodes), link});
  }
}

// Adds Salmon's figures, in his notation. Figures in links are in units of one host's link.
void add_figures(const MetaNodes& net, ClosedForms& forms) {
  const double L = net.meta_nodes, P = net.ports, C = net.wires;  // NOLINT(readability-identifier-naming)
  forms.further.push_back({"max_meta_nodes", "P C + 1 (Salmon et al. 1998)", P * C + 1});
  forms.further.push_back({"max_nodes", "P (P C + 1) (Salmon et al. 1998)", P * (P * C + 1)});
  if (net.meta_nodes < 2) return;
  forms.further.push_back(
      {"edge_weight", "P C / (L - 1) links between two meta-nodes (Salmon et al. 1998)", P * C / (L - 1)});
  forms.further.push_back(
      {"meta_node_diameter", "1: every meta-node is wired to every other (Salmon et al. 1998)", 1});
  if (net.meta_nodes % 2 != 0) return;
  forms.further.push_back(
      {"bisection_per_node",
       "(C / 4) (L / (L - 1)) links over all N nodes, half of the meta-nodes against half, for "
       "even L (Salmon et al. 1998)",
       C / 4 * (L / (L - 1))});
}

// With more than two meta-nodes, halves of whole meta-nodes are not the narrowest cut. Hosts wired to a
// meta-node may move to its side: each costs its link to its own switch but saves the wire, so it fills up
// the half at no cost. For 4 x 9, one meta-node and the nine hosts wired to it against all others is 9 links;
// Salmon's cut is 12.
void bisect(const MetaNodes& net, double rate, double wire_rate, ClosedForms& forms) {
  if (net.meta_nodes != 2 || net.wires * wire_rate > rate) return;
  forms.bisection = net.ends() * wire_rate;
  forms.bisection_formula = "P C wires between two meta-nodes (Salmon et al. 1998, with L = 2)";
}

MetaNodes read(const program::Parameters& given, std::int64_t vertices_max) {
  const double count_of = given.real("meta_nodes"), ports = given.real("ports"), wires = given.real("wires");
  check_room(count_of * ports, count_of, count_of * ports * (1 + wires / 2), vertices_max);
  if (count_of - 1 > ports * wires)
    throw UsageError(
        "meta_nodes = " + given.text("meta_nodes") + " is too many: ports = " + given.text("ports") +
        " and wires = " + given.text("wires") +
        " allow at most P C + 1 = " + std::to_string(static_cast<std::int64_t>(ports * wires + 1)));
  return {count(given, "meta_nodes"), count(given, "ports"), count(given, "wires")};
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  const MetaNodes net = read(given, vertices_max);
  const double rate = given.real("rate"), wire_rate = rate_or(given, "wire_rate", rate);
  Graph& graph = network.graph;
  graph.hosts = net.hosts();
  add_switch_class(graph, "switch");
  wire_hosts(graph, net.ports, add_link_class(graph, "host-link", rate));
  const std::uint16_t wire = add_link_class(graph, "wire", wire_rate);
  if (net.meta_nodes > 1) add_wires(net, wire, graph);
  group_hosts(graph, "meta-node", net.ports);
  for (std::int32_t at = 0; at < net.meta_nodes; ++at) add_switch(graph, "switch" + std::to_string(at), at);
  if (graph.host_classes.front().forwards == Forwarding::no)
    graph.host_classes.front().forwards = Forwarding::ip;
  count_adapters(graph);
  add_figures(net, network.forms);
  bisect(net, rate, wire_rate, network.forms);
}

const std::array parameters = {
    count_parameter("meta_nodes", "4", "switches, L"),
    count_parameter("ports", "9", "hosts on each switch, P"),
    count_parameter("wires", "1", "wires from each host to hosts of other switches, C", 1, 1e4),
    rate_parameter(always_written, "", "rate of each host's link to its switch, in each direction"),
    rate_parameter("wire_rate", "", "rate of each wire between hosts; without it, that of the links"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(
    meta_node, {.name = "meta-node",
                .summary = "Switches of hosts that are wired to hosts of other switches and forward",
                .source = "Salmon, Stein and Sterling, Scaling of Beowulf-class Distributed Systems, SC98",
                .parameters = parameters,
                .make = make})
