// Switches on a grid, each wired to all others of its line in every dimension.
#include <array>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {
namespace {

struct HyperxShape {
  std::vector<std::int32_t> sizes;
  std::int32_t hosts_per_switch = 1;
  double host_rate = 0, trunk_rate = 0;  // bits/s; trunk_rate: all cables of a trunk together
  bool any_order = false;
};

struct HyperxDimension {
  std::int32_t size = 0, stride = 0;
  std::int64_t first_edge = 0;
  // Returns the edge between the switches at coordinates i < j of a line; `of` is any switch of that line.
  std::int64_t edge(std::int32_t of, std::int32_t i, std::int32_t j) const {
    const std::int64_t line = static_cast<std::int64_t>(of / stride / size) * stride + of % stride;
    return first_edge + line * (static_cast<std::int64_t>(size) * (size - 1) / 2) + pair_index(i, j, size);
  }
};

struct HyperxNumbers {
  explicit HyperxNumbers(const HyperxShape& shape)
      : hosts_per_switch(shape.hosts_per_switch), any_order(shape.any_order) {
    for (const std::int32_t size : shape.sizes) {
      dimensions.push_back({size, switches, 0});
      switches *= size;
    }
    std::int64_t edge = static_cast<std::int64_t>(switches) * shape.hosts_per_switch;
    for (HyperxDimension& dimension : dimensions) {
      dimension.first_edge = edge;
      edge += static_cast<std::int64_t>(switches) * (dimension.size - 1) / 2;
    }
  }
  std::vector<HyperxDimension> dimensions;
  std::int32_t switches = 1, hosts_per_switch;
  bool any_order;
};

// Takes one step in each dimension in which source and destination differ.
class HyperxRouter final : public ArithmeticRouter<HyperxNumbers> {
 public:
  using ArithmeticRouter::ArithmeticRouter;

  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    lanes.push_back(lane_up(request.source));
    std::int32_t at = request.source / numbers_.hosts_per_switch;
    const std::int32_t destination = request.destination / numbers_.hosts_per_switch;
    std::array<std::uint8_t, numbers_max> order{};
    std::size_t steps = 0;
    for (std::size_t d = 0; d < numbers_.dimensions.size(); ++d)
      if (coordinate(at, d) != coordinate(destination, d)) order[steps++] = static_cast<std::uint8_t>(d);
    if (numbers_.any_order) shuffle(std::span(order).first(steps), request);
    for (const std::uint8_t d : std::span(order).first(steps)) {
      const HyperxDimension& dimension = numbers_.dimensions[d];
      const std::int32_t from = coordinate(at, d), to = coordinate(destination, d);
      const std::int64_t edge = dimension.edge(at, std::min(from, to), std::max(from, to));
      lanes.push_back(from < to ? lane_up(edge) : lane_down(edge));
      at += (to - from) * dimension.stride;
    }
    lanes.push_back(lane_down(request.destination));
  }

 private:
  std::int32_t coordinate(std::int32_t at, std::size_t d) const {
    return at / numbers_.dimensions[d].stride % numbers_.dimensions[d].size;
  }

  void shuffle(std::span<std::uint8_t> order, const RouteRequest& request) const {
    Chooser choices = chooser(request);
    std::uint32_t chosen_before = 1;
    for (std::size_t left = order.size(); left > 1; --left) {
      const auto ways = static_cast<std::uint32_t>(left);
      std::swap(order[left - 1], order[choices.choose(ways, chosen_before)]);
      // With many dimensions there are more orders than destinations.
      chosen_before = chosen_before < (1U << 26) ? chosen_before * ways : chosen_before;
    }
  }
};

void check_hyperx(const HyperxShape& shape, std::int64_t vertices_max) {
  double switches = 1, links = 0;
  for (const std::int32_t size : shape.sizes) switches *= size;
  for (const std::int32_t size : shape.sizes) links += switches * (size - 1.0) / 2;
  const double hosts = switches * shape.hosts_per_switch;
  check_room(hosts, switches, hosts + links, vertices_max);
}

// Half of the shortest dimension against the other half: (S / 2)^2 links in each of its V / S lines. S is the
// second eigenvalue of the grid's Laplacian, so no cut into V / 2 switches has fewer than S V / 4 links.
void bisect(const HyperxShape& shape, double switches, ClosedForms& forms) {
  std::vector<std::int32_t> sizes = shape.sizes;
  std::erase(sizes, 1);
  if (sizes.empty()) return;
  const std::int32_t shortest = *std::ranges::min_element(sizes);
  if (shortest % 2 != 0) return;
  forms.bisection = std::min(switches * shortest / 4 * shape.trunk_rate,
                             switches * shape.hosts_per_switch / 2 * shape.host_rate);
  forms.bisection_formula =
      "S V / 4 links across the shortest dimension S of V switches, at most what half of the hosts send "
      "(Ahn et al. 2009, section 3)";
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  HyperxShape shape;
  shape.sizes = numbers(given, "dimensions");
  if (shape.sizes.empty()) throw UsageError("dimensions is empty; write the sizes as \"8x8\"");
  shape.hosts_per_switch = count(given, "hosts_per_switch");
  shape.host_rate = given.real("rate");
  const std::int32_t cables = count(given, "cables");
  shape.trunk_rate = cables * rate_or(given, "trunk_rate", shape.host_rate);
  shape.any_order = given.text("order") == "hash";
  check_hyperx(shape, vertices_max);

  const HyperxNumbers numbers(shape);
  Graph& graph = network.graph;
  graph.hosts = numbers.switches * shape.hosts_per_switch;
  add_switch_class(graph, "switch");
  wire_hosts(graph, shape.hosts_per_switch, add_link_class(graph, "host-link", shape.host_rate));
  const std::uint16_t trunk = add_link_class(graph, "trunk", shape.trunk_rate, cables);
  for (const HyperxDimension& dimension : numbers.dimensions)
    for (std::int32_t line = 0; line < numbers.switches / dimension.size; ++line) {
      const Vertex first =
          graph.hosts + line / dimension.stride * dimension.stride * dimension.size + line % dimension.stride;
      for (std::int32_t i = 0; i < dimension.size; ++i)
        for (std::int32_t j = i + 1; j < dimension.size; ++j)
          graph.edges.push_back({first + i * dimension.stride, first + j * dimension.stride, trunk});
    }
  for (std::int32_t at = 0; at < numbers.switches; ++at) add_switch(graph, grid_name(numbers.dimensions, at));
  count_adapters(graph);
  network.router = std::make_unique<HyperxRouter>(numbers, network);
  network.forms.hosts_alike = true;
  bisect(shape, numbers.switches, network.forms);
}

const std::array parameters = {
    list_parameter("dimensions", "4x4", "switches in each dimension: 8x8"),
    count_parameter("hosts_per_switch", "4", "hosts on each switch"),
    count_parameter("cables", "1", "cables between two switches, pooled", 1, 1e6),
    program::Parameter{
        .name = "order",
        .kind = program::Parameter::Kind::choice,
        .initial = "dimension",
        .help = "in which order dimensions are corrected: always the same, or by a hash of the flow",
        .choices = {"dimension", "hash"}},
    host_rate_parameter(),
    rate_parameter("trunk_rate", "", "rate of each cable between switches; without it, that of the hosts"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(
    hyperx,
    {.name = "hyperx",
     .summary = "Switches on a grid, each wired to all others of its line in every dimension",
     .source = "Ahn, Binkert, Davis, McLaren and Schreiber, HyperX: Topology, Routing, and Packaging of "
               "Efficient Large-Scale Networks, SC09",
     .parameters = parameters,
     .make = make})
