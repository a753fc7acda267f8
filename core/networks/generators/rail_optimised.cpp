// Hosts with several adapters: adapter r of every host of a pod is on the pod's switch r, its rail.
#include "networks/generators/rail_optimised.hpp"

#include <array>

namespace crosscut::networks::generators {
namespace {

RailNumbers read(const program::Parameters& given, double uplink_rate, std::int64_t vertices_max) {
  const double rails = given.real("rails"), on_rail = given.real("hosts_per_pod"), pods = given.real("pods");
  const double uplinks = given.real("uplinks");
  // A quotient that rounding has lifted above a whole number must not cost a spine.
  const double wanted = std::ceil(on_rail * given.real("rate") / (uplinks * uplink_rate) * (1 - 1e-12));
  const double spines = given.real("spines") > 0 ? given.real("spines") : std::max(1.0, wanted);
  check_room(on_rail * pods, rails * pods + spines, on_rail * pods * rails + rails * pods * spines * uplinks,
             vertices_max);
  return {static_cast<std::int32_t>(rails), static_cast<std::int32_t>(on_rail),
          static_cast<std::int32_t>(pods), static_cast<std::int32_t>(spines),
          static_cast<std::int32_t>(uplinks)};
}

void add_edges(const RailNumbers& numbers, std::uint16_t host_link, std::uint16_t uplink, Graph& graph) {
  for (Vertex host = 0; host < graph.hosts; ++host)
    for (std::int32_t rail = 0; rail < numbers.rails; ++rail)
      graph.edges.push_back(
          {host, graph.hosts + host / numbers.hosts_per_pod * numbers.rails + rail, host_link});
  const Vertex first_spine = graph.hosts + numbers.rail_switches();
  for (std::int32_t at = 0; at < numbers.rail_switches(); ++at)
    for (std::int32_t port = 0; port < numbers.spines * numbers.uplinks; ++port)
      graph.edges.push_back({graph.hosts + at, first_spine + port % numbers.spines, uplink});
}

void name_vertices(const RailNumbers& numbers, Graph& graph) {
  graph.group_word = "pod";
  for (Vertex host = 0; host < graph.hosts; ++host) graph.group.push_back(host / numbers.hosts_per_pod);
  for (std::int32_t at = 0; at < numbers.rail_switches(); ++at) {
    const std::int32_t pod = at / numbers.rails;
    graph.group.push_back(pod);
    graph.level.push_back(0);
    graph.switch_class.push_back(0);
    graph.switch_names.push_back("pod" + std::to_string(pod) + ".rail" + std::to_string(at % numbers.rails));
  }
  for (std::int32_t spine = 0; spine < numbers.spines; ++spine) {
    graph.group.push_back(-1);
    graph.level.push_back(1);
    graph.switch_class.push_back(1);
    graph.switch_names.push_back("spine" + std::to_string(spine));
  }
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  const double rate = given.real("rate"), uplink_rate = rate_or(given, "uplink_rate", rate);
  const RailNumbers numbers = read(given, uplink_rate, vertices_max);
  Graph& graph = network.graph;
  graph.hosts = numbers.hosts();
  graph.switches = numbers.rail_switches() + numbers.spines;
  add_switch_class(graph, "rail");
  add_switch_class(graph, "spine");
  const std::uint16_t host_link = add_link_class(graph, "host-link", rate);
  add_edges(numbers, host_link, add_link_class(graph, "uplink", uplink_rate), graph);
  name_vertices(numbers, graph);
  count_adapters(graph);
  network.router = make_rail_router(numbers, network.spread, network.seed);
  network.forms.hosts_alike = true;
  if (numbers.pods % 2 != 0) return;
  network.forms.bisection =
      std::min(0.5 * numbers.rail_switches() * numbers.spines * numbers.uplinks * uplink_rate,
               0.5 * graph.hosts * numbers.rails * rate);
  network.forms.bisection_formula =
      "half of the links of the spines, at most half of the hosts' (as in a leaf and "
      "spine network: Dally and Towles 2004, section 6.4)";
}

const std::array parameters = {
    count_parameter("rails", "8", "adapters of each host, each on a rail of its own", 1, 1e4),
    count_parameter("hosts_per_pod", "32", "hosts on one set of rail switches"),
    count_parameter("pods", "4", "sets of rail switches"),
    count_parameter("spines", "0", "spine switches; 0: as many as carry all that a rail's hosts send", 0),
    count_parameter("uplinks", "1", "cables from each rail switch to each spine", 1, 1e6),
    host_rate_parameter(),
    rate_parameter("uplink_rate", "", "rate of each cable to a spine; without it, that of the hosts"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(
    rail_optimised,
    {.name = "rail-optimised",
     .summary = "Hosts with several adapters, the r-th of all hosts of a pod on one switch; spines above",
     .source =
         "NVIDIA DGX SuperPOD reference architecture (compute fabric); Wang et al., Rail-only, HOTI 2024",
     .parameters = parameters,
     .make = make})
