// Describes a network for building an emulated cluster: all properties of links and switches, and all
// forwarding.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "networks/network_report.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

constexpr Vertex most_hosts = 1024;  // N x N entries
constexpr std::uint64_t keys_tried = 4;

using Endpoint = std::pair<Vertex, int>;  // a host and its adapter; -1: any

json::Value rate(double bits_per_second) {
  return bits_per_second > 0 ? json::Value(bits_per_second) : json::Value(nullptr);  // null: no bound
}

// Fills tables by walking every path once. Existing entries stay, so that each table is a tree.
class Tables {
 public:
  explicit Tables(const Network& network) : network_(network), graph_(network.graph), wired_(graph_, true) {}

  void fill() {
    for (Vertex destination = 0; destination < graph_.hosts; ++destination) {
      const int adapters = adapter_count(destination);
      const bool forwards = graph_.host(destination).forwards != Forwarding::no;
      for (int adapter = 0; adapter < (forwards ? 1 : adapters); ++adapter)
        for (Vertex source = 0; source < graph_.hosts; ++source)
          if (source != destination) walk(source, {destination, forwards ? -1 : adapter});
    }
  }

  json::Value routes() const {
    return listed(routes_, [](Vertex host, const Hop& hop) {
      return json::Array{host, hop.lane, hop.next, hop.entering};
    });
  }

  json::Value segments() const {
    return listed(segments_, [](Vertex vertex, Lane lane) { return json::Array{vertex, lane}; });
  }

  // Includes one-way links to the host.
  json::Value adapters(Vertex host) const {
    json::Array edges;
    for (const Lane lane : wired_.leaving(host)) edges.emplace_back(lane / 2);
    return edges;
  }

 private:
  struct Hop {
    Lane lane = -1;
    Vertex next = -1;
    int entering = -1;
  };

  template <typename Entry, typename Write>
  static json::Value listed(const std::map<Endpoint, std::map<Vertex, Entry>>& tables, const Write& write) {
    json::Array list;
    for (const auto& [to, entries] : tables) {
      json::Array at;
      for (const auto& [vertex, entry] : entries) at.emplace_back(write(vertex, entry));
      list.emplace_back(json::Object{{"host", to.first}, {"adapter", to.second}, {"at", std::move(at)}});
    }
    return list;
  }

  int adapter_count(Vertex host) const { return static_cast<int>(wired_.leaving(host).size()); }

  // Returns the adapter by which a lane leaves or enters the host.
  int adapter_of(Vertex host, Lane lane) const {
    const auto lanes = wired_.leaving(host);
    const auto same_edge = [lane](Lane other) { return other / 2 == lane / 2; };
    return static_cast<int>(std::ranges::find_if(lanes, same_edge) - lanes.begin());
  }

  void walk(Vertex source, Endpoint to) {
    const int same = to.second < adapter_count(source) ? to.second : -1;
    lanes_.clear();
    network_.router->route({source, to.first, same, to.second, 0}, lanes_);
    // The router ignores an adapter that no path enters. Nothing is sent to it, so it needs no entries.
    if (to.second >= 0 && adapter_of(to.first, lanes_.back()) != to.second) return;
    for (std::size_t start = 0; start < lanes_.size();) {
      auto end = start;
      while (!graph_.is_host(graph_.head(lanes_[end]))) ++end;
      const Vertex next = graph_.head(lanes_[end]);
      const int entering = adapter_of(next, lanes_[end]);
      const auto added =
          routes_[to].try_emplace(graph_.tail(lanes_[start]), Hop{lanes_[start], next, entering});
      fill_segment({next, entering}, start, end);
      if (!added.second) return;  // the rest of the path is known
      start = end + 1;
    }
  }

  void fill_segment(Endpoint to, std::size_t start, std::size_t end) {
    auto& known = segments_[to];
    for (auto at = start; at < end; ++at)
      if (!known.try_emplace(graph_.head(lanes_[at]), lanes_[at + 1]).second) return;
  }

  const Network& network_;
  const Graph& graph_;
  Adjacency wired_;
  std::vector<Lane> lanes_;
  std::map<Endpoint, std::map<Vertex, Hop>> routes_;
  std::map<Endpoint, std::map<Vertex, Lane>> segments_;
};

bool has_equal_paths(const Network& network) {
  if (network.spread != Spread::ecmp) return false;
  std::vector<Lane> first, other;
  for (Vertex source = 0; source < network.graph.hosts; ++source) {
    for (Vertex destination = 0; destination < network.graph.hosts; ++destination) {
      if (source == destination) continue;
      first.clear();
      network.router->route({source, destination, -1, -1, 0}, first);
      for (std::uint64_t key = 1; key < keys_tried; ++key) {
        other.clear();
        network.router->route({source, destination, -1, -1, key}, other);
        if (other != first) return true;
      }
    }
  }
  return false;
}

json::Value hosts_of(const Network& network, const Tables& tables) {
  const Graph& graph = network.graph;
  json::Array list;
  for (Vertex v = 0; v < graph.hosts; ++v) {
    const auto& its = graph.host(v);
    list.emplace_back(json::Object{{"name", graph.name(v)},
                                   {"adapters", tables.adapters(v)},
                                   {"processors", its.processors},
                                   {"ranks", its.ranks},
                                   {"memory_bits_per_second", rate(its.memory_rate)},
                                   {"overhead_seconds", its.send_overhead + its.receive_overhead},
                                   {"forwards", forwarding_words[static_cast<std::size_t>(its.forwards)]},
                                   {"forward_latency_seconds", its.forward_latency}});
  }
  return list;
}

json::Value switches_of(const Graph& graph) {
  json::Array list;
  for (Vertex v = graph.hosts; v < graph.vertices(); ++v) {
    const auto& its = graph.switch_of(v);
    list.emplace_back(json::Object{{"name", graph.name(v)},
                                   {"capacity_bits_per_second", rate(its.capacity)},
                                   {"bounds", bounds_words[static_cast<std::size_t>(its.bounds)]},
                                   {"latency_seconds", its.latency}});
  }
  return list;
}

json::Value edges_of(const Graph& graph) {
  json::Array list;
  for (const Edge& edge : graph.edges) {
    const auto& link = graph.link_classes[edge.link_class];
    list.emplace_back(json::Object{{"a", edge.a},
                                   {"b", edge.b},
                                   {"bits_per_second", link.rate},
                                   {"back_bits_per_second", link.half_duplex ? link.rate : link.back_rate},
                                   {"half_duplex", link.half_duplex},
                                   {"cables", link.cables},
                                   {"latency_seconds", link.latency}});
  }
  return list;
}

}  // namespace

json::Value describe_paths(const Network& network) {
  const Graph& graph = network.graph;
  if (graph.hosts > most_hosts)
    throw UsageError("the paths of " + std::to_string(graph.hosts) +
                     " hosts are too many to write; at most " + std::to_string(most_hosts) +
                     " hosts are possible");
  const bool equal_ways = has_equal_paths(network);
  const auto modulo = equal_ways ? read_network(network.file, graph.vertices(), Spread::destination_modulo)
                                 : std::unique_ptr<Network>();
  Tables tables(modulo ? *modulo : network);
  tables.fill();
  const auto& protocol = network.protocol;
  return json::Object{{"name", network.name},
                      {"title", network.title},
                      {"kind", network.kind},
                      {"file", network.file},
                      {"protocol", json::Object{{"name", protocol.name},
                                                {"efficiency", protocol.efficiency},
                                                {"mtu", protocol.mtu},
                                                {"framing", protocol.framing}}},
                      {"equal_ways", equal_ways},
                      {"hosts", hosts_of(network, tables)},
                      {"switches", switches_of(graph)},
                      {"edges", edges_of(graph)},
                      {"routes", tables.routes()},
                      {"segments", tables.segments()}};
}

}  // namespace crosscut::networks
