// A chassis of line cards: ports on ASICs, ASICs on modules, modules wired to each other or to a backplane.
#include <array>
#include <limits>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {
namespace {

struct Chassis {
  std::int32_t modules = 1, asics = 1, hosts_per_asic = 1, hosts = 1;
  bool is_mesh = true;
  double host_rate = 0;
  // bits/s in each direction; infinite: no known limit.
  double asic_rate = 0, module_rate = 0, backplane_rate = 0;
  double asic_capacity = 0;  // 0: none
};

Chassis read(const program::Parameters& given, std::int64_t vertices_max) {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  const double ports = given.real("modules") * given.real("asics_per_module") * given.real("hosts_per_asic");
  const double hosts = given.real("hosts") > 0 ? given.real("hosts") : ports;
  if (hosts > ports)
    throw UsageError("hosts = " + given.text("hosts") +
                     " are more than modules * asics_per_module * "
                     "hosts_per_asic = " +
                     std::to_string(static_cast<std::int64_t>(std::min(ports, 9e18))));
  const double modules = given.real("modules"), asics = modules * given.real("asics_per_module");
  const bool is_mesh = given.text("backplane") == "mesh";
  check_room(hosts, asics + modules + 1, hosts + asics + (is_mesh ? modules * (modules - 1) / 2 : modules),
             vertices_max);
  if (is_mesh && given.given("backplane_rate"))
    throw UsageError(
        "backplane_rate needs backplane = \"central\"; in a mesh, module_rate is the rate between each pair "
        "of modules");
  return {.modules = count(given, "modules"),
          .asics = count(given, "asics_per_module"),
          .hosts_per_asic = count(given, "hosts_per_asic"),
          .hosts = static_cast<std::int32_t>(hosts),
          .is_mesh = is_mesh,
          .host_rate = given.real("rate"),
          .asic_rate = rate_or(given, "asic_rate", no_limit),
          .module_rate = rate_or(given, "module_rate", no_limit),
          .backplane_rate = rate_or(given, "backplane_rate", 0),
          .asic_capacity = rate_or(given, "asic_capacity", 0)};
}

void add_switches(const Chassis& chassis, Graph& graph) {
  add_switch_class(graph, "asic", chassis.asic_capacity);
  add_switch_class(graph, "module");
  group_hosts(graph, "module", std::int64_t{chassis.hosts_per_asic} * chassis.asics);
  for (std::int32_t module = 0; module < chassis.modules; ++module)
    for (std::int32_t asic = 0; asic < chassis.asics; ++asic)
      add_switch(graph, "module" + std::to_string(module) + ".asic" + std::to_string(asic), module);
  for (std::int32_t module = 0; module < chassis.modules; ++module)
    add_switch(graph, "module" + std::to_string(module), module, 1);
  if (chassis.is_mesh) return;
  add_switch_class(graph, "backplane", chassis.backplane_rate, Bounds::through);
  add_switch(graph, "backplane", -1, 2);
}

void add_edges(const Chassis& chassis, Graph& graph) {
  const Vertex first_asic = graph.hosts, asics = chassis.modules * chassis.asics;
  const Vertex first_module = first_asic + asics, backplane = first_module + chassis.modules;
  wire_hosts(graph, chassis.hosts_per_asic, add_link_class(graph, "host-link", chassis.host_rate));
  const std::uint16_t asic_link = add_link_class(graph, "asic-link", chassis.asic_rate, no_cables);
  for (Vertex at = 0; at < asics; ++at)
    graph.edges.push_back({first_asic + at, first_module + at / chassis.asics, asic_link});
  const std::uint16_t module_link = add_link_class(graph, "module-link", chassis.module_rate, no_cables);
  for (Vertex at = first_module; at < backplane; ++at) {
    if (!chassis.is_mesh) graph.edges.push_back({at, backplane, module_link});
    for (Vertex other = at + 1; chassis.is_mesh && other < backplane; ++other)
      graph.edges.push_back({at, other, module_link});
  }
}

// Half of the modules against the other half. A mesh of M modules has (M / 2)^2 pairs across. No cut with as
// many hosts that splits modules has fewer: a share f of the modules has f (1 - f) M^2 pairs, which is
// concave, and what a split module adds grows with its hosts.
double across_modules(const Chassis& chassis) {
  const double half = chassis.modules / 2.0, half_of_asics = half * chassis.asics;
  double across = half * chassis.module_rate * (chassis.is_mesh ? half : 1);
  // Both directions pass the same backplane.
  if (chassis.backplane_rate > 0) across = std::min(across, chassis.backplane_rate / 2);
  if (chassis.asic_capacity > 0) across = std::min(across, half_of_asics * chassis.asic_capacity);
  return std::min(across, half_of_asics * chassis.asic_rate);
}

void bisect(const Chassis& chassis, bool is_full, ClosedForms& forms) {
  const auto hosts_of_half = chassis.hosts / 2;
  const double hosts = hosts_of_half * chassis.host_rate;
  const bool is_unlimited = std::isinf(chassis.module_rate) && std::isinf(chassis.asic_rate) &&
                            chassis.asic_capacity == 0 && chassis.backplane_rate == 0;
  if (is_unlimited) {
    forms.bisection = hosts;
    forms.bisection_formula = "floor(N / 2) rate: nothing in the chassis limits what its hosts send";
  } else if (is_full && chassis.modules % 2 == 0) {
    forms.bisection = std::min(hosts, across_modules(chassis));
    forms.bisection_formula =
        std::string(chassis.is_mesh ? "(M / 2)^2 module_rate" : "M / 2 module_rate, backplane_rate / 2") +
        ", at most what half of the ASICs, or of the hosts, pass "
        "(structure: Kurmann, Rauch and Stricker 2003, figure 6)";
  }
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  const Chassis chassis = read(given, vertices_max);
  network.graph.hosts = chassis.hosts;
  add_switches(chassis, network.graph);
  add_edges(chassis, network.graph);
  count_adapters(network.graph);
  const bool is_full =
      chassis.hosts == std::int64_t{chassis.modules} * chassis.asics * chassis.hosts_per_asic;
  network.forms.hosts_alike = is_full;
  bisect(chassis, is_full, network.forms);
}

const std::array parameters = {
    count_parameter("modules", "4", "line cards", 1, 1e4),
    count_parameter("asics_per_module", "2", "switching chips in use on each module", 1, 1e4),
    count_parameter("hosts_per_asic", "16", "hosts on each chip"),
    count_parameter("hosts", "0", "hosts in all, filling one chip after the other; 0: all ports have one", 0),
    program::Parameter{
        .name = "backplane",
        .kind = program::Parameter::Kind::choice,
        .initial = "mesh",
        .help = "mesh: every module is wired to every other; central: all meet in one backplane",
        .choices = {"mesh", "central"}},
    host_rate_parameter(),
    rate_parameter(
        "asic_capacity", "",
        "rate at which a chip takes from its hosts, and at which it gives to them; without it, no limit"),
    rate_parameter("asic_rate", "",
                   "rate between a chip and its module, in each direction; without it, no limit"),
    rate_parameter(
        "module_rate", "",
        "rate between two modules (mesh) or a module and the backplane, in each direction; without it, no "
        "limit"),
    rate_parameter("backplane_rate", "",
                   "rate of the central backplane, all messages together; without it, no limit"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(
    module_chassis,
    {.name = "module-chassis",
     .summary =
         "One chassis: ports on ASICs, ASICs on modules, modules wired to each other or to a backplane",
     .source = "Kurmann, Rauch and Stricker 2003, figures 5 and 6",
     .parameters = parameters,
     .make = make})
