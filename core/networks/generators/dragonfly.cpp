// Groups of routers that are all wired to each other; groups all wired to each other by long cables.
#include "networks/generators/dragonfly.hpp"

#include <array>

namespace crosscut::networks::generators {
namespace {

// Balanced, as section 3.1 of the paper has it: a = 2 p = 2 h, and as many groups as a group has global
// links.
DragonflyNumbers read(const program::Parameters& given, std::int64_t vertices_max) {
  const double p = given.real("p"), a = given.real("a") > 0 ? given.real("a") : 2 * p;
  const double h = given.real("h") > 0 ? given.real("h") : p;
  const double g = given.real("groups") > 0 ? given.real("groups") : a * h + 1;
  if (g - 1 > a * h)
    throw UsageError("groups = " + given.text("groups") +
                     " are too many: the a h = " + std::to_string(static_cast<std::int64_t>(a * h)) +
                     " global links of a group reach as many other groups at most");
  const double copies = g > 1 ? std::floor(a * h / (g - 1)) : 0;
  check_room(p * a * g, a * g, p * a * g + g * a * (a - 1) / 2 + g * (g - 1) / 2 * copies, vertices_max);
  return {static_cast<std::int32_t>(p), static_cast<std::int32_t>(a), static_cast<std::int32_t>(h),
          static_cast<std::int32_t>(g)};
}

void add_edges(const DragonflyNumbers& numbers, std::uint16_t local, std::uint16_t global, Graph& graph) {
  for (std::int32_t group = 0; group < numbers.g; ++group) {
    const Vertex first = graph.hosts + group * numbers.a;
    for (std::int32_t i = 0; i < numbers.a; ++i)
      for (std::int32_t j = i + 1; j < numbers.a; ++j) graph.edges.push_back({first + i, first + j, local});
  }
  for (std::int32_t i = 0; i < numbers.g; ++i)
    for (std::int32_t j = i + 1; j < numbers.g; ++j)
      for (std::int32_t copy = 0; copy < numbers.copies(); ++copy)
        graph.edges.push_back({graph.hosts + i * numbers.a + numbers.router_to(i, j, copy),
                               graph.hosts + j * numbers.a + numbers.router_to(j, i, copy), global});
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  const DragonflyNumbers numbers = read(given, vertices_max);
  const double rate = given.real("rate"), local_rate = rate_or(given, "local_rate", rate);
  Graph& graph = network.graph;
  graph.hosts = numbers.hosts();
  graph.switches = numbers.routers();
  add_switch_class(graph, "router");
  wire_hosts(graph, numbers.p, add_link_class(graph, "host-link", rate));
  const std::uint16_t local = add_link_class(graph, "local-link", local_rate);
  add_edges(numbers, local, add_link_class(graph, "global-link", rate_or(given, "global_rate", local_rate)),
            graph);
  graph.group_word = "group";
  for (Vertex host = 0; host < graph.hosts; ++host) graph.group.push_back(host / (numbers.p * numbers.a));
  for (std::int32_t router = 0; router < graph.switches; ++router) {
    const std::int32_t group = router / numbers.a;
    graph.group.push_back(group);
    graph.switch_names.push_back("group" + std::to_string(group) + ".router" +
                                 std::to_string(router % numbers.a));
  }
  graph.level.assign(static_cast<std::size_t>(graph.switches), 0);
  count_adapters(graph);
  network.router = make_dragonfly_router(numbers, network.spread, network.seed);
}

const std::array parameters = {
    count_parameter("p", "4", "hosts on each router", 1, 1e6),
    count_parameter("a", "0", "routers in each group; 0: 2 p, balanced", 0, 1e6),
    count_parameter("h", "0", "global links of each router; 0: p, balanced", 0, 1e6),
    count_parameter("groups", "0", "groups; 0: as many as a group's global links reach, a h + 1", 0),
    host_rate_parameter(),
    rate_parameter("local_rate", "", "rate of the links within a group; without it, that of the hosts"),
    rate_parameter("global_rate", "", "rate of the links between groups; without it, that of the local ones"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(
    dragonfly,
    {.name = "dragonfly",
     .summary = "Groups of routers, all wired to each other within; groups all wired to each other",
     .source = "Kim, Dally, Scott and Abts, ISCA 2008; minimal routing, palmtree arrangement",
     .parameters = parameters,
     .make = make})
