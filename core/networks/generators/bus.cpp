// One medium shared by all hosts: one message is sent at a time.
#include <array>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {
namespace {

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  Graph& graph = network.graph;
  check_room(given.real("hosts"), 1, given.real("hosts"), vertices_max);
  const double rate = given.real("rate");
  graph.hosts = count(given, "hosts");
  add_switch_class(graph, "medium", rate, Bounds::through);
  // A station either sends or receives.
  const std::uint16_t tap = add_link_class(graph, "tap", rate, 1, true);
  add_switch(graph, "medium");
  wire_hosts(graph, graph.hosts, tap);
  count_adapters(graph);
  network.forms.bisection = rate / 2;
  network.forms.bisection_formula = "rate / 2: both directions share the medium";
  network.forms.hosts_alike = true;
}

const std::array parameters = {
    count_parameter("hosts", "16", "hosts on the medium", 2),
    rate_parameter(always_written, "", "rate of the medium, all messages together"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(
    bus, {.name = "bus",
          .summary = "A medium that all hosts share, one message at a time",
          .source = "Ethernet as Metcalfe and Boggs 1976 describe it; Fatoohi et al. 2005 (the "
                    "platform CE)",
          .parameters = parameters,
          .make = make})
