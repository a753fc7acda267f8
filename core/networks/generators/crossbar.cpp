// All hosts on one switch that only its links limit: the reference for all other networks.
#include <array>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {
namespace {

const std::array parameters = {
    program::Parameter{.name = "hosts",
                       .kind = program::Parameter::Kind::integer,
                       .unit = "hosts",
                       .initial = "16",
                       .help = "hosts on the switch",
                       .minimum = 1},
    rate_parameter(always_written, "", "rate of each link, in each direction"),
};

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  Graph& graph = network.graph;
  const auto hosts = given.integer("hosts");
  const int adapters = graph.host_classes.front().adapters;
  check_room(static_cast<double>(hosts), 1, static_cast<double>(hosts) * adapters, vertices_max);
  const double rate = given.real("rate");
  graph.hosts = static_cast<Vertex>(hosts);
  add_switch_class(graph, "switch");
  add_switch(graph, "switch");
  const std::uint16_t link = add_link_class(graph, "link", rate);
  graph.edges.reserve(static_cast<std::size_t>(hosts) * static_cast<std::size_t>(adapters));
  for (Vertex host = 0; host < graph.hosts; ++host)
    for (int adapter = 0; adapter < adapters; ++adapter) graph.edges.push_back({host, graph.hosts, link});
  // Each host of one half sends to one of the other half, limited only by its links.
  const auto hosts_of_half = hosts / 2;
  network.forms.bisection = static_cast<double>(hosts_of_half) * adapters * rate;
  network.forms.bisection_formula = "floor(N/2) * adapters * rate";
  network.forms.hosts_alike = true;
}

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(crossbar, {.name = "crossbar",
                                     .summary = "All hosts on one switch that is never the bottleneck",
                                     .source = "an ideal, to compare others with",
                                     .parameters = parameters,
                                     .make = make})
