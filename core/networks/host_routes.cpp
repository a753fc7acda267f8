// Computes the IP routing tables of hosts that forward.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

constexpr Vertex most_hosts = 4096;  // the table has N x N entries
constexpr double most_steps = 4e9;   // some ten seconds

// Cost of a path to the destination: hosts entered; wires between hosts, which are scarcer than a switch's
// capacity, so that a path between two groups avoids a third; links; and the last link, 0 for the
// destination's own wire, 1 from a switch.
using Cost = HostRoutes::Cost;
constexpr Cost no_way{ShortestPaths::unreachable, 0, 0, 0};

const Graph* checked_size(const Graph& graph) {
  if (graph.hosts > most_hosts)
    throw UsageError("routing tables are made for at most " + std::to_string(most_hosts) +
                     " hosts, not for " + std::to_string(graph.hosts));
  return &graph;
}

}  // namespace

HostRoutes::HostRoutes(const Graph& graph, std::uint64_t seed)
    : graph_(checked_size(graph)), within_(graph, Spread::ecmp, seed, ShortestPaths::Hosts::never_pass) {
  // Hosts of each switch, to find neighbours without trying all pairs.
  std::vector<std::vector<NextHop>> on_switch(static_cast<std::size_t>(graph.switches));
  for (Vertex host = 0; host < graph.hosts; ++host)
    for (const Lane lane : within_.adjacency().leaving(host))
      if (!graph.is_host(graph.head(lane)))
        on_switch[static_cast<std::size_t>(graph.head(lane) - graph.hosts)].push_back({host, -1, lane ^ 1});
  neighbours_.resize(static_cast<std::size_t>(graph.hosts));
  double steps = 0;
  for (Vertex host = 0; host < graph.hosts; ++host) {
    auto& its = neighbours_[static_cast<std::size_t>(host)];
    for (const Lane lane : within_.adjacency().leaving(host)) {
      const Vertex next = graph.head(lane);
      if (graph.is_host(next)) {
        its.push_back({next, lane, lane, 1});
        continue;
      }
      for (Vertex other = graph.hosts; other < graph.vertices(); ++other) {
        const auto& there = on_switch[static_cast<std::size_t>(other - graph.hosts)];
        if (there.empty()) continue;
        const int links = within_.distance(next, other);
        if (links >= ShortestPaths::unreachable) continue;
        for (const NextHop& hop : there)
          if (hop.host != host) its.push_back({hop.host, lane, hop.entering, links + 2});
      }
    }
    steps += static_cast<double>(its.size()) * graph.hosts;
    if (steps > most_steps)
      throw UsageError(
          "the hosts have too many neighbours for routing tables; use [routing] kind = \"shortest\", or "
          "fewer hosts");
  }
  const auto hosts = static_cast<std::size_t>(graph.hosts);
  table_.resize(hosts * hosts);
  for (Vertex destination = 0; destination < graph.hosts; ++destination) fill(destination);
}

// Fills the tables of all hosts for one destination.
void HostRoutes::fill(Vertex destination) {
  const auto hosts = static_cast<std::size_t>(graph_->hosts);
  std::vector<Cost> cost(hosts, no_way);
  std::vector<std::vector<NextHop>> best(hosts);
  cost[static_cast<std::size_t>(destination)] = {0, 0, 0, 0};
  std::vector<Vertex> level{destination};
  for (int entered = 1; !level.empty(); ++entered) {
    std::vector<Vertex> next_level;
    for (const Vertex through : level) {
      if (through != destination && graph_->host(through).forwards == Forwarding::no) continue;
      const auto& [hosts_left, wires_left, links_left, entry] = cost[static_cast<std::size_t>(through)];
      // Neighbours are symmetric: the path back is the path there, reversed.
      for (const NextHop& back : neighbours_[static_cast<std::size_t>(through)]) {
        auto& its = cost[static_cast<std::size_t>(back.host)];
        if (std::get<0>(its) < entered) continue;
        const int its_entry = through == destination ? (back.links > 1 ? 1 : 0) : entry;
        const int wires = back.links == 1 ? 1 : 0;
        const Cost offered{entered, wires_left + wires, links_left + back.links, its_entry};
        if (offered > its) continue;
        if (its == no_way) next_level.push_back(back.host);
        auto& ways = best[static_cast<std::size_t>(back.host)];
        if (offered < its) ways.clear();
        its = offered;
        ways.push_back({through, back.entering ^ 1, back.lane ^ 1, back.links});
      }
    }
    level = std::move(next_level);
  }
  // Hosts with the same choice of gateways take turns.
  std::map<std::vector<std::pair<Vertex, Lane>>, std::size_t> turns;
  for (std::size_t host = 0; host < hosts; ++host) {
    auto& ways = best[host];
    if (static_cast<Vertex>(host) == destination) continue;
    if (ways.empty())
      throw UsageError("there is no path from " + graph_->name(static_cast<Vertex>(host)) + " to " +
                       graph_->name(destination));
    std::ranges::sort(ways, {}, [](const NextHop& way) { return std::pair(way.host, way.entering); });
    std::vector<std::pair<Vertex, Lane>> gateways;
    for (const NextHop& way : ways) gateways.emplace_back(way.host, way.entering);
    const auto turn = turns[std::move(gateways)]++;
    table_[host * hosts + static_cast<std::size_t>(destination)] = ways[turn % ways.size()];
  }
  walk_all(destination, cost);
}

HostRoutes::Length HostRoutes::length(Vertex source, Vertex destination) const {
  Length length;
  for (Vertex at = source; at != destination; ++length.hops) {
    if (length.hops > graph_->hosts)
      throw UsageError("messages from " + graph_->name(source) + " to " + graph_->name(destination) +
                       " run in a loop through " + graph_->name(at));
    const auto& hop = next_hop(at, destination);
    length.links += hop.links;
    at = hop.host;
  }
  return length;
}

// Follows the tables from every host and checks that no path is longer than the shortest; so none is a loop.
void HostRoutes::walk_all(Vertex destination, const std::vector<Cost>& cost) const {
  for (Vertex source = 0; source < graph_->hosts; ++source) {
    const auto walked = length(source, destination);
    const auto& [hops, wires, links, entry] = cost[static_cast<std::size_t>(source)];
    if (walked.hops != hops || walked.links != links)
      throw UsageError("the routing tables take a detour from " + graph_->name(source) + " to " +
                       graph_->name(destination) + " (an error in crosscut; please report it)");
  }
}

void HostRoutes::route(const RouteRequest& request, std::vector<Lane>& lanes) const {
  PathChooser chooser(request, within_.spread(), within_.seed());
  for (Vertex at = request.source; at != request.destination;) {
    const auto& hop = next_hop(at, request.destination);
    lanes.push_back(hop.lane);
    if (hop.lane != hop.entering) {
      within_.walk(graph_->head(hop.lane), graph_->tail(hop.entering), chooser, lanes);
      lanes.push_back(hop.entering);
    }
    at = hop.host;
  }
}

}  // namespace crosscut::networks
