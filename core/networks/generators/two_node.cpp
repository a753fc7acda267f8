// Two hosts joined by a cable or through one switch, as in NetPIPE comparisons of interconnects.
#include <array>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {
namespace {

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  Graph& graph = network.graph;
  const bool cable = given.text("through") == "cable";
  const int adapters = graph.host_classes.front().adapters;
  const double rate = given.real("rate");
  check_room(2, cable ? 0 : 1, adapters * (cable ? 1.0 : 2.0), vertices_max);
  graph.hosts = 2;
  const std::uint16_t link = add_link_class(graph, "link", rate);
  if (!cable) {
    add_switch_class(graph, "switch");
    add_switch(graph, "switch");
  }
  for (int adapter = 0; adapter < adapters; ++adapter) {
    graph.edges.push_back({0, cable ? 1 : 2, link});
    if (!cable) graph.edges.push_back({1, 2, link});
  }
  count_adapters(graph);
  network.forms.bisection = adapters * rate;
  network.forms.bisection_formula = "adapters * rate, all that joins the two hosts";
  network.forms.hosts_alike = true;
}

const std::array parameters = {
    program::Parameter{.name = "through",
                       .kind = program::Parameter::Kind::choice,
                       .initial = "cable",
                       .help = "cable: back to back; switch: through one switch",
                       .choices = {"cable", "switch"}},
    rate_parameter(always_written, "", "rate of each link, in each direction"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(two_node, {.name = "two-node",
                                     .summary = "Two hosts, back to back or through one switch",
                                     .source = "Bode, Hill and Benjegerdes, USENIX FREENIX 2004",
                                     .parameters = parameters,
                                     .make = make})
