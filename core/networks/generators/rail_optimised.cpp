// Hosts with several adapters. Adapter r of every host of a pod is wired to the pod's switch r, its rail.
#include <array>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {
namespace {

struct RailNumbers {
  std::int32_t rails = 1, hosts_per_pod = 1, pods = 1, spines = 1;
  std::int32_t uplinks = 1;  // cables from each rail switch to each spine
  std::int32_t hosts() const { return hosts_per_pod * pods; }
  std::int32_t rail_switches() const { return pods * rails; }
  std::int64_t host_edge(Vertex host, std::int32_t rail) const {
    return static_cast<std::int64_t>(host) * rails + rail;
  }
  // `port`: 0 .. spines * uplinks - 1 of a rail switch; it leads to spine port % spines.
  std::int64_t spine_edge(std::int32_t rail_switch, std::int32_t port) const {
    return host_edge(hosts(), 0) + static_cast<std::int64_t>(rail_switch) * spines * uplinks + port;
  }
};

// A flow that may leave by any adapter arrives by the same one: it then needs no spine within a pod.
class RailRouter final : public ArithmeticRouter<RailNumbers> {
 public:
  using ArithmeticRouter::ArithmeticRouter;

  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    Chooser choices = chooser(request);
    const auto rails = static_cast<std::uint32_t>(numbers_.rails);
    std::int32_t leaves_by = request.source_adapter, enters_by = request.destination_adapter;
    if (leaves_by < 0 && enters_by < 0) leaves_by = static_cast<std::int32_t>(choices.choose(rails));
    if (leaves_by < 0) leaves_by = enters_by;
    if (enters_by < 0) enters_by = leaves_by;
    const std::int32_t from = switch_of(request.source, leaves_by),
                       to = switch_of(request.destination, enters_by);
    lanes.push_back(lane_up(numbers_.host_edge(request.source, leaves_by)));
    if (from != to) {
      const auto spines = static_cast<std::uint32_t>(numbers_.spines);
      const auto uplinks = static_cast<std::uint32_t>(numbers_.uplinks);
      const std::uint32_t spine = choices.choose(spines, rails);
      add_spine(from, spine + spines * choices.choose(uplinks, rails * spines), lane_up, lanes);
      add_spine(to, spine + spines * choices.choose(uplinks, rails * spines), lane_down, lanes);
    }
    lanes.push_back(lane_down(numbers_.host_edge(request.destination, enters_by)));
  }

 private:
  std::int32_t switch_of(Vertex host, std::int32_t rail) const {
    return host / numbers_.hosts_per_pod * numbers_.rails + rail;
  }
  void add_spine(std::int32_t rail_switch, std::uint32_t port, Lane (*direction)(std::int64_t),
                 std::vector<Lane>& lanes) const {
    lanes.push_back(direction(numbers_.spine_edge(rail_switch, static_cast<std::int32_t>(port))));
  }
};

RailNumbers read(const program::Parameters& given, double uplink_rate, std::int64_t vertices_max) {
  const double rails = given.real("rails"), on_rail = given.real("hosts_per_pod"), pods = given.real("pods");
  const double uplinks = given.real("uplinks");
  // A quotient that rounding puts just above a whole number must not cost a spine.
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
  group_hosts(graph, "pod", numbers.hosts_per_pod);
  for (std::int32_t pod = 0; pod < numbers.pods; ++pod)
    for (std::int32_t rail = 0; rail < numbers.rails; ++rail)
      add_switch(graph, "pod" + std::to_string(pod) + ".rail" + std::to_string(rail), pod);
  for (std::int32_t spine = 0; spine < numbers.spines; ++spine)
    add_switch(graph, "spine" + std::to_string(spine), -1, 1);
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  const double rate = given.real("rate"), uplink_rate = rate_or(given, "uplink_rate", rate);
  const RailNumbers numbers = read(given, uplink_rate, vertices_max);
  Graph& graph = network.graph;
  graph.hosts = numbers.hosts();
  add_switch_class(graph, "rail");
  add_switch_class(graph, "spine");
  const std::uint16_t host_link = add_link_class(graph, "host-link", rate);
  add_edges(numbers, host_link, add_link_class(graph, "uplink", uplink_rate), graph);
  name_vertices(numbers, graph);
  count_adapters(graph);
  network.router = std::make_unique<RailRouter>(numbers, network);
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
