// Switches on a grid; in every dimension each is wired to all others of its line.
#include "networks/generators/hyperx.hpp"

#include <array>

namespace crosscut::networks::generators {
namespace {

void check_hyperx(const HyperxShape& shape, std::int64_t vertices_max) {
  double switches = 1, links = 0;
  for (const std::int32_t size : shape.sizes) switches *= size;
  for (const std::int32_t size : shape.sizes) links += switches * (size - 1.0) / 2;
  const double hosts = switches * shape.hosts_per_switch;
  check_room(hosts, switches, hosts + links, vertices_max);
}

// Half of the shortest dimension against the other half: (S / 2)^2 links in each of its V / S lines. The
// second eigenvalue of the grid's Laplacian is that S, so that no cut of V / 2 switches has fewer than S V /
// 4 links.
void bisect(const HyperxShape& shape, double switches, ClosedForms& forms) {
  std::vector<std::int32_t> sizes = shape.sizes;
  std::erase(sizes, 1);
  if (sizes.empty()) return;
  const std::int32_t shortest = *std::ranges::min_element(sizes);
  if (shortest % 2 != 0) return;
  forms.bisection = std::min(switches * shortest / 4 * shape.trunk_rate,
                             switches * shape.hosts_per_switch / 2 * shape.host_rate);
  forms.bisection_formula =
      "S V / 4 links across the shortest dimension S of V switches, at most what half of the hosts send (Ahn "
      "et "
      "al. 2009, section 3)";
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
  graph.switches = numbers.switches;
  graph.hosts = graph.switches * shape.hosts_per_switch;
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
  for (std::int32_t at = 0; at < numbers.switches; ++at) graph.switch_names.push_back(numbers.name(at));
  graph.level.assign(static_cast<std::size_t>(graph.switches), 0);
  count_adapters(graph);
  network.router = make_hyperx_router(numbers, shape, network.spread, network.seed);
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
