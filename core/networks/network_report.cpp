#include "networks/network_report.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/words.hpp"
#include "networks/explicit_graph.hpp"
#include "networks/figures.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

json::Value of_distances(const Distances& far) {
  const auto table = [](const std::map<int, double>& hosts_at) {
    json::Object object;
    for (const auto& [distance, hosts] : hosts_at) {
      const bool whole = hosts == std::floor(hosts);
      object.emplace_back(std::to_string(distance),
                          whole ? json::Value(static_cast<std::int64_t>(hosts)) : json::Value(hosts));
    }
    return object;
  };
  return json::Object{
      {"diameter_links", far.diameter_links},
      {"diameter_hops", far.diameter_hops},
      {"mean_links", far.mean_links},
      {"mean_hops", far.mean_hops},
      {"hosts_at_links", table(far.hosts_at_links)},
      {"hosts_at_hops", table(far.hosts_at_hops)},
      {"hops_are", far.hops_are_gateways ? "gateways passed + 1" : "switches passed, at least 1"},
      {"all_hosts_see_alike", far.all_see_alike && !far.is_sample},
      {"looked_from_hosts", far.looked_from},
      {"is_sample", far.is_sample}};
}

json::Value of_bisection(const std::optional<Bisection>& cut) {
  if (!cut) return nullptr;
  return json::Object{{"bits_per_second", cut->bits_per_second},
                      {"per_host_bits_per_second", cut->per_host},
                      {"per_host_of_half_bits_per_second", cut->per_host_of_half},
                      {"host_links", cut->in_links},
                      {"kind", cut->is_closed_form ? "closed form" : "bound"},
                      {"formula", cut->formula}};
}

json::Value of_counts(const Counts& its) {
  return json::Object{
      {"hosts", its.hosts},       {"processors", its.processors},     {"adapters", its.adapters},
      {"switches", its.switches}, {"switch_ports", its.switch_ports}, {"links", its.links},
      {"cables", its.cables},     {"host_links", its.host_links}};
}

json::Value of_cost(const std::optional<Cost>& its, std::int64_t hosts) {
  if (!its) return nullptr;
  return json::Object{{"currency", its->currency},
                      {"total", its->total()},
                      {"per_host", its->total() / static_cast<double>(hosts)},
                      {"hosts", its->hosts},
                      {"adapters", its->adapters},
                      {"switches", its->switches},
                      {"ports", its->ports},
                      {"cables", its->cables},
                      // Cost of the network beyond the hosts, which would be bought anyway.
                      {"network", its->total() - its->hosts}};
}

}  // namespace

json::Value describe_network(const Network& network) {
  json::Array further;
  for (const auto& figure : network.forms.further)
    further.emplace_back(
        json::Object{{"name", figure.name}, {"value", figure.value}, {"formula", figure.formula}});
  const auto& protocol = network.protocol;
  return json::Object{
      {"name", network.name},
      {"title", network.title},
      {"source", network.source},
      {"file", network.file},
      {"kind", network.kind},
      {"counts", of_counts(counts(network.graph))},
      {"distances", of_distances(distances(network))},
      {"bisection", of_bisection(bisection(network))},
      {"price", of_cost(cost(network.graph), network.graph.hosts)},
      {"protocol", json::Object{{"name", protocol.name}, {"efficiency", protocol.efficiency}}},
      {"further", std::move(further)}};
}

json::Value describe_graph(const Network& network) {
  constexpr Vertex most_drawn = 20'000;
  constexpr std::size_t most_lines = 100'000;
  const Graph& graph = network.graph;
  if (graph.vertices() > most_drawn || graph.edges.size() > most_lines)
    throw UsageError("a drawing of " + std::to_string(graph.vertices()) + " vertices and " +
                     std::to_string(graph.edges.size()) + " links cannot be read; at most " +
                     std::to_string(most_drawn) + " and " + std::to_string(most_lines) + " are listed");
  json::Array vertices, edges;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    json::Object its{{"name", graph.name(v)}, {"kind", graph.is_host(v) ? "host" : "switch"}};
    if (!graph.group.empty()) its.emplace_back("group", graph.group[static_cast<std::size_t>(v)]);
    if (!graph.is_host(v) && !graph.level.empty())
      its.emplace_back("level", static_cast<int>(graph.level[static_cast<std::size_t>(v - graph.hosts)]));
    if (!graph.is_host(v) && graph.switch_of(v).capacity > 0)
      its.emplace_back("capacity_bits_per_second", graph.switch_of(v).capacity);
    vertices.emplace_back(std::move(its));
  }
  for (const Edge& edge : graph.edges) {
    const auto& link = graph.link_classes[edge.link_class];
    edges.emplace_back(json::Object{{"a", edge.a},
                                    {"b", edge.b},
                                    {"class", link.name},
                                    {"bits_per_second", link.rate},
                                    {"back_bits_per_second", link.half_duplex ? link.rate : link.back_rate},
                                    {"cables", link.cables},
                                    {"half_duplex", link.half_duplex}});
  }
  return json::Object{{"hosts", graph.hosts},
                      {"group_word", graph.group_word},
                      {"vertices", std::move(vertices)},
                      {"edges", std::move(edges)}};
}

json::Value describe_route(const Network& network, const std::string& source, const std::string& destination,
                           std::uint64_t key) {
  const Graph& graph = network.graph;
  const auto host = [&](const std::string& name) {
    for (Vertex v = 0; v < graph.hosts; ++v)
      if (graph.name(v) == name) return v;
    throw UsageError("there is no host " + shown(name) + " in " + network.name + "; hosts are " +
                     graph.name(0) + " to " + graph.name(graph.hosts - 1));
  };
  RouteRequest request;
  request.source = host(source);
  request.destination = host(destination);
  request.key = key;
  std::vector<CapacityIndex> uses;
  const double latency = network.path(request, uses);
  std::vector<Lane> lanes;
  if (request.source != request.destination) network.router->route(request, lanes);
  json::Array vertices{graph.name(request.source)}, capacities;
  for (const Lane lane : lanes) vertices.emplace_back(graph.name(graph.head(lane)));
  for (const auto index : uses)
    capacities.emplace_back(
        json::Object{{"name", network.capacity_name(index)},
                     {"payload_bytes_per_second", network.capacities()[static_cast<std::size_t>(index)]}});
  return json::Object{{"source", source},
                      {"destination", destination},
                      {"key", key},
                      {"vertices", std::move(vertices)},
                      {"links", lanes.size()},
                      {"capacities", std::move(capacities)},
                      {"latency_seconds", latency}};
}

json::Value describe_tables(const Network& network) {
  const auto* routes = dynamic_cast<const HostRoutes*>(network.router.get());
  if (routes == nullptr)
    throw UsageError("hosts of " + network.name +
                     " have no routing tables; [routing] kind = \"hosts\" makes them");
  const Graph& graph = network.graph;
  const Adjacency adjacency(graph);
  constexpr Vertex most_hosts = 512;  // N x N lines
  if (graph.hosts > most_hosts)
    throw UsageError("tables of " + std::to_string(graph.hosts) + " hosts are too long; at most " +
                     std::to_string(most_hosts) + " are written");
  json::Array tables;
  for (Vertex host = 0; host < graph.hosts; ++host) {
    json::Array entries;
    for (Vertex destination = 0; destination < graph.hosts; ++destination) {
      if (destination == host) continue;
      const auto& hop = routes->next_hop(host, destination);
      const auto interface =
          std::ranges::find(adjacency.leaving(host), hop.lane) - adjacency.leaving(host).begin();
      const auto entering = std::ranges::find(adjacency.leaving(hop.host), hop.entering ^ 1) -
                            adjacency.leaving(hop.host).begin();
      entries.emplace_back(json::Object{{"to", graph.name(destination)},
                                        {"via", graph.name(hop.host)},
                                        {"interface", static_cast<std::int64_t>(interface)},
                                        {"via_interface", static_cast<std::int64_t>(entering)},
                                        {"edge", hop.lane / 2}});
    }
    tables.emplace_back(json::Object{{"host", graph.name(host)}, {"routes", std::move(entries)}});
  }
  return json::Object{{"network", network.name}, {"tables", std::move(tables)}};
}

}  // namespace crosscut::networks
