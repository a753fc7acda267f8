// Groups of fully connected routers; long cables connect all groups with each other.
#include <array>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {
namespace {

// Kim, Dally, Scott and Abts, Technology-Driven, Highly-Scalable Dragonfly Topology (ISCA 2008), in their
// notation: p hosts per router, a routers per group, h global links per router, g groups.
//
// Assignment of global links: group i counts the other groups as i + 1, i + 2, .. (modulo g). Its global
// ports c = 0, 1, .. lead to them in this order, repeated for as long as a whole round of ports is left. Port
// c belongs to router c / h. Camarero, Vallejo and Beivide (ACM TACO 2014) call this the palmtree
// arrangement; here it counts upwards.
struct DragonflyNumbers {
  std::int32_t p = 1, a = 1, h = 1, g = 1;
  std::int32_t copies() const { return g > 1 ? a * h / (g - 1) : 0; }  // global links between two groups
  std::int32_t hosts() const { return p * a * g; }
  // Returns the router of group `from` that has copy `copy` of its links to group `to`.
  std::int32_t router_to(std::int32_t from, std::int32_t to, std::int32_t copy) const {
    const std::int32_t offset = to > from ? to - from : to - from + g;
    return (offset - 1 + (g - 1) * copy) / h;
  }
  std::int64_t local_edge(std::int32_t group, std::int32_t i, std::int32_t j) const {
    return hosts() + group * (static_cast<std::int64_t>(a) * (a - 1) / 2) + pair_index(i, j, a);
  }
  std::int64_t global_edge(std::int32_t i, std::int32_t j, std::int32_t copy) const {
    return hosts() + g * (static_cast<std::int64_t>(a) * (a - 1) / 2) + pair_index(i, j, g) * copies() + copy;
  }
};

// Minimal routing (Kim et al. 2008, section 4.1): at most one link within the source's group, one global
// link, and one link within the destination's group.
class DragonflyRouter final : public ArithmeticRouter<DragonflyNumbers> {
 public:
  using ArithmeticRouter::ArithmeticRouter;

  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    const Place from = place(request.source), to = place(request.destination);
    lanes.push_back(lane_up(request.source));
    if (from.group == to.group) {
      add_local(from.group, from.router, to.router, lanes);
    } else {
      const std::int32_t copy = choose_copy(request, from, to);
      const std::int32_t leaves_by = numbers_.router_to(from.group, to.group, copy);
      const std::int32_t enters_by = numbers_.router_to(to.group, from.group, copy);
      add_local(from.group, from.router, leaves_by, lanes);
      const auto [low, high] = std::minmax(from.group, to.group);
      const std::int64_t edge = numbers_.global_edge(low, high, copy);
      lanes.push_back(from.group == low ? lane_up(edge) : lane_down(edge));
      add_local(to.group, enters_by, to.router, lanes);
    }
    lanes.push_back(lane_down(request.destination));
  }

 private:
  struct Place {
    std::int32_t group, router;
  };
  Place place(Vertex host) const {
    const std::int32_t router = host / numbers_.p;
    return {router / numbers_.a, router % numbers_.a};
  }

  void add_local(std::int32_t group, std::int32_t i, std::int32_t j, std::vector<Lane>& lanes) const {
    if (i == j) return;
    const std::int64_t edge = numbers_.local_edge(group, std::min(i, j), std::max(i, j));
    lanes.push_back(i < j ? lane_up(edge) : lane_down(edge));
  }

  // Chooses, among the global links between two groups, one with the fewest local links before and after it.
  std::int32_t choose_copy(const RouteRequest& request, Place from, Place to) const {
    const std::int32_t copies = numbers_.copies();
    if (copies == 1) return 0;
    const auto local_links = [&](std::int32_t copy) {
      return (numbers_.router_to(from.group, to.group, copy) != from.router ? 1 : 0) +
             (numbers_.router_to(to.group, from.group, copy) != to.router ? 1 : 0);
    };
    int fewest = 2;
    std::uint32_t equal = 0;
    for (std::int32_t copy = 0; copy < copies; ++copy) {
      const int links = local_links(copy);
      if (links < fewest) equal = 0;
      fewest = std::min(fewest, links);
      if (links == fewest) ++equal;
    }
    std::uint32_t left = chooser(request).choose(equal);
    for (std::int32_t copy = 0; copy < copies; ++copy)
      if (local_links(copy) == fewest && left-- == 0) return copy;
    return 0;  // unreachable: `equal` of the copies have the fewest
  }
};

// By default balanced as in section 3.1 of the paper: a = 2 p = 2 h, and as many groups as a group's global
// links reach. Throws UsageError if there are too many groups.
DragonflyNumbers read(const program::Parameters& given, std::int64_t vertices_max) {
  const double p = given.real("p"), a = given.real("a") > 0 ? given.real("a") : 2 * p;
  const double h = given.real("h") > 0 ? given.real("h") : p;
  const double g = given.real("groups") > 0 ? given.real("groups") : a * h + 1;
  if (g - 1 > a * h)
    throw UsageError("groups = " + given.text("groups") +
                     " is too many: the a h = " + std::to_string(static_cast<std::int64_t>(a * h)) +
                     " global links of a group reach at most as many other groups");
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
  add_switch_class(graph, "router");
  wire_hosts(graph, numbers.p, add_link_class(graph, "host-link", rate));
  const std::uint16_t local = add_link_class(graph, "local-link", local_rate);
  add_edges(numbers, local, add_link_class(graph, "global-link", rate_or(given, "global_rate", local_rate)),
            graph);
  group_hosts(graph, "group", std::int64_t{numbers.p} * numbers.a);
  for (std::int32_t group = 0; group < numbers.g; ++group)
    for (std::int32_t router = 0; router < numbers.a; ++router)
      add_switch(graph, "group" + std::to_string(group) + ".router" + std::to_string(router), group);
  count_adapters(graph);
  network.router = std::make_unique<DragonflyRouter>(numbers, network);
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
