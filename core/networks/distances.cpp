#include <algorithm>
#include <array>
#include <limits>

#include "networks/figures.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

// Limit on the vertices and links visited, beyond which a sample of hosts is examined: some ten seconds.
constexpr double most_steps = 2e9;
constexpr std::int64_t smallest_sample = 8;

struct Far {
  std::int32_t hosts = -1;  // hosts passed or reached; -1: not reached
  std::int32_t links = 0;
};

// Number of hosts at each (hosts passed + 1, links), seen from one host.
using Seen = std::map<std::pair<int, int>, std::int64_t>;

class View {
 public:
  View(const Graph& graph, const Adjacency& adjacency)
      : graph_(&graph), adjacency_(&adjacency), far_(static_cast<std::size_t>(graph.vertices())) {}

  Seen from(Vertex source) {
    std::ranges::fill(far_, Far{});
    at(source) = {0, 0};
    Seen seen;
    std::vector<Vertex> through{source};  // hosts at the same number of hops, whose links are followed next
    while (!through.empty()) {
      const auto reached = spread(through);
      for (const Vertex host : reached) ++seen[{at(host).hosts, at(host).links}];
      through.clear();
      for (const Vertex host : reached)
        if (graph_->host(host).forwards != Forwarding::no) through.push_back(host);
    }
    return seen;
  }

 private:
  Far& at(Vertex v) { return far_[static_cast<std::size_t>(v)]; }

  // Visits everything reachable from these hosts through switches alone, in order of links, so that each host
  // gets its fewest.
  std::vector<Vertex> spread(const std::vector<Vertex>& through) {
    std::vector<Vertex> hosts;
    buckets_.clear();
    for (const Vertex host : through) put(host, at(host).links);
    const int entered = at(through.front()).hosts + 1;
    for (std::size_t links = 0; links < buckets_.size(); ++links) {
      for (std::size_t i = 0; i < buckets_[links].size(); ++i) {
        const Vertex v = buckets_[links][i];
        if (at(v).links != static_cast<std::int32_t>(links)) continue;  // reached by fewer links since
        for (const Lane lane : adjacency_->leaving(v))
          step(graph_->head(lane), static_cast<int>(links) + 1, entered, hosts);
      }
    }
    return hosts;
  }

  void step(Vertex next, int links, int entered, std::vector<Vertex>& hosts) {
    auto& its = at(next);
    if (graph_->is_host(next)) {
      if (its.hosts < 0) hosts.push_back(next);
      if (its.hosts < 0 || (its.hosts == entered && its.links > links)) its = {entered, links};
      return;
    }
    // A switch may be reached again behind a further host: only the first visit can be on a shortest path.
    if (its.hosts >= 0 && (its.hosts < entered || its.links <= links)) return;
    its = {entered, links};
    put(next, links);
  }

  void put(Vertex v, int links) {
    if (buckets_.size() <= static_cast<std::size_t>(links))
      buckets_.resize(static_cast<std::size_t>(links) + 1);
    buckets_[static_cast<std::size_t>(links)].push_back(v);
  }

  const Graph* graph_;
  const Adjacency* adjacency_;
  std::vector<Far> far_;
  std::vector<std::vector<Vertex>> buckets_;
};

// Follows the routing tables, which avoid the wires of third groups; a search of the graph would take them.
Seen routed_from(const HostRoutes& routes, const Graph& graph, Vertex source) {
  Seen seen;
  for (Vertex host = 0; host < graph.hosts; ++host) {
    if (host == source) continue;
    const auto length = routes.length(source, host);
    ++seen[{length.hops, length.links}];
  }
  return seen;
}

// Returns the hosts to look from, each with the number of hosts that it stands for. Hosts that do not forward
// and have one link, to the same switch, share one: all see the same distances.
std::vector<std::pair<Vertex, std::int64_t>> viewpoints(const Graph& graph, const Adjacency& adjacency) {
  std::vector<std::pair<Vertex, std::int64_t>> points;
  std::vector<std::int64_t> of_switch(static_cast<std::size_t>(graph.switches), -1);
  for (Vertex host = 0; host < graph.hosts; ++host) {
    const auto leaving = adjacency.leaving(host);
    if (leaving.size() != 1 || graph.is_host(graph.head(leaving[0])) ||
        graph.host(host).forwards != Forwarding::no) {
      points.emplace_back(host, 1);
      continue;
    }
    auto& point = of_switch[static_cast<std::size_t>(graph.head(leaving[0]) - graph.hosts)];
    if (point < 0) {
      point = static_cast<std::int64_t>(points.size());
      points.emplace_back(host, 0);
    }
    ++points[static_cast<std::size_t>(point)].second;
  }
  return points;
}

}  // namespace

Distances distances(const Network& network) {
  const Graph& graph = network.graph;
  const Adjacency adjacency(graph);
  Distances result;
  result.hops_are_gateways = std::ranges::any_of(
      graph.host_classes, [](const HostClass& its) { return its.forwards != Forwarding::no; });
  auto points = viewpoints(graph, adjacency);
  const double steps = static_cast<double>(graph.vertices()) + 2 * static_cast<double>(graph.edges.size());
  if (network.forms.hosts_alike && points.size() > 1) {
    points.resize(1);
  } else if (steps * static_cast<double>(points.size()) > most_steps) {
    const auto fits = static_cast<std::int64_t>(most_steps / steps);
    const auto kept = static_cast<std::size_t>(std::max(fits, smallest_sample));
    if (kept < points.size()) {
      for (std::size_t i = 0; i < kept; ++i) points[i] = points[i * points.size() / kept];
      points.resize(kept);
      result.is_sample = true;
    }
  }
  const auto* routes = dynamic_cast<const HostRoutes*>(network.router.get());
  View view(graph, adjacency);
  double weight = 0, links_sum = 0, hops_sum = 0, pairs = 0;
  Seen first;
  for (const auto& [host, alike] : points) {
    const auto seen = routes != nullptr ? routed_from(*routes, graph, host) : view.from(host);
    if (weight == 0) first = seen;
    result.all_see_alike = result.all_see_alike && seen == first;
    weight += static_cast<double>(alike);
    result.looked_from += result.is_sample || network.forms.hosts_alike ? 1 : alike;
    for (const auto& [far, count] : seen) {
      const auto& [entered, links] = far;
      const int hops = result.hops_are_gateways ? entered : std::max(1, links - 1);
      const double hosts = static_cast<double>(count) * static_cast<double>(alike);
      result.hosts_at_links[links] += hosts;
      result.hosts_at_hops[hops] += hosts;
      result.diameter_links = std::max(result.diameter_links, links);
      result.diameter_hops = std::max(result.diameter_hops, hops);
      links_sum += hosts * links;
      hops_sum += hosts * hops;
      pairs += hosts;
    }
  }
  for (auto* table : {&result.hosts_at_links, &result.hosts_at_hops})
    for (auto& [far, hosts] : *table) hosts /= weight;
  if (pairs > 0) {
    result.mean_links = links_sum / pairs;
    result.mean_hops = hops_sum / pairs;
  }
  return result;
}

}  // namespace crosscut::networks
