// Counts the parts of a network and computes their cost.
#include <algorithm>

#include "base/error.hpp"
#include "networks/figures.hpp"

namespace crosscut::networks {

Counts counts(const Graph& graph) {
  Counts result{.hosts = graph.hosts, .switches = graph.switches};
  result.links = static_cast<std::int64_t>(graph.edges.size());
  for (const Edge& edge : graph.edges) {
    const int cables = graph.link_classes[edge.link_class].cables;
    const int host_ends = (graph.is_host(edge.a) ? 1 : 0) + (graph.is_host(edge.b) ? 1 : 0);
    result.cables += cables;
    result.host_links += host_ends > 0 ? 1 : 0;
    result.switch_ports += static_cast<std::int64_t>(cables) * (2 - host_ends);
  }
  for (Vertex host = 0; host < graph.hosts; ++host) {
    result.adapters += graph.host(host).adapters;
    result.processors += graph.host(host).processors;
  }
  return result;
}

std::optional<Cost> cost(const Graph& graph) {
  Cost result;
  const auto add = [&](const Price& price, double count, double& sum) {
    if (price.currency.empty() || count == 0) return;
    if (result.currency.empty()) result.currency = price.currency;
    if (price.currency != result.currency)
      throw UsageError("prices in " + result.currency + " and in " + price.currency +
                       "; write them all in one currency");
    sum += price.amount * count;
  };
  for (Vertex host = 0; host < graph.hosts; ++host) {
    const auto& its = graph.host(host);
    add(its.price, 1, result.hosts);
    add(its.adapter_price, its.adapters, result.adapters);
  }
  for (Vertex v = graph.hosts; v < graph.vertices(); ++v) add(graph.switch_of(v).price, 1, result.switches);
  for (const Edge& edge : graph.edges) {
    const auto& link = graph.link_classes[edge.link_class];
    add(link.price, link.cables, result.cables);
    for (const Vertex end : {edge.a, edge.b})
      if (!graph.is_host(end)) add(graph.switch_of(end).port_price, link.cables, result.ports);
  }
  if (result.currency.empty()) return std::nullopt;
  return result;
}

}  // namespace crosscut::networks
