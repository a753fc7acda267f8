#include <algorithm>

#include "base/error.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

constexpr std::size_t most_passing = 16'384;  // 512 MB if all are destinations

std::uint64_t both(Vertex a, Vertex b) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) | static_cast<std::uint32_t>(b);
}

Lane turned(Lane lane) { return lane ^ 1; }

}  // namespace

Adjacency::Adjacency(const Graph& graph, bool wired)
    : first_(static_cast<std::size_t>(graph.vertices()) + 1, 0) {
  const auto goes_back = [&](const Edge& edge) {
    return wired || !graph.link_classes[edge.link_class].one_way;
  };
  for (const Edge& edge : graph.edges) {
    ++first_[static_cast<std::size_t>(edge.a) + 1];
    if (goes_back(edge)) ++first_[static_cast<std::size_t>(edge.b) + 1];
  }
  for (std::size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
  lanes_.resize(first_.back());
  auto next = first_;
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const auto& edge = graph.edges[i];
    const auto lane = static_cast<Lane>(2 * i);
    lanes_[next[static_cast<std::size_t>(edge.a)]++] = lane;
    if (goes_back(edge)) lanes_[next[static_cast<std::size_t>(edge.b)]++] = lane + 1;
  }
}

PathChooser::PathChooser(const RouteRequest& request, Spread spread, std::uint64_t seed)
    : spread_(spread),
      digits_(static_cast<std::uint64_t>(request.destination)),
      random_(random_stream(seed, both(request.source, request.destination), request.key)) {}

std::size_t PathChooser::pick(std::size_t count) {
  if (count <= 1) return 0;
  if (spread_ == Spread::ecmp) return static_cast<std::size_t>(random_.below(count));
  // Uses one digit after another: the same digit at each level would leave most paths of the second level
  // unused.
  const auto digit = digits_ % count;
  digits_ /= count;
  return static_cast<std::size_t>(digit);
}

ShortestPaths::ShortestPaths(const Graph& graph, Spread spread, std::uint64_t seed, Hosts hosts)
    : graph_(&graph),
      spread_(spread),
      seed_(seed),
      adjacency_(graph),
      index_(static_cast<std::size_t>(graph.vertices()), -1) {
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (graph.is_host(v) && (hosts == Hosts::never_pass || graph.host(v).forwards == Forwarding::no))
      continue;
    index_[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(passing_.size());
    passing_.push_back(v);
  }
  if (passing_.size() > most_passing)
    throw UsageError("shortest paths are kept for at most " + std::to_string(most_passing) +
                     " switches and hosts that forward, not for " + std::to_string(passing_.size()) +
                     "; use a generator that computes its routes");
  made_ = std::make_unique<std::once_flag[]>(passing_.size());
  tables_.resize(passing_.size());
}

std::span<const std::uint16_t> ShortestPaths::table(Vertex to) const {
  const auto at = static_cast<std::size_t>(index_[static_cast<std::size_t>(to)]);
  std::call_once(made_[at], [&] {
    auto& links = tables_[at];
    links.assign(passing_.size(), unreachable);
    links[at] = 0;
    std::vector<Vertex> reached{to};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const auto here = links[static_cast<std::size_t>(index_[static_cast<std::size_t>(reached[i])])];
      for (const Lane lane : adjacency_.leaving(reached[i])) {
        const Vertex next = graph_->head(lane);
        if (!passes(next)) continue;
        auto& its = links[static_cast<std::size_t>(index_[static_cast<std::size_t>(next)])];
        if (its != unreachable) continue;
        its = static_cast<std::uint16_t>(here + 1);
        reached.push_back(next);
      }
    }
  });
  return tables_[at];
}

void ShortestPaths::walk(Vertex from, Vertex to, PathChooser& chooser, std::vector<Lane>& lanes) const {
  const auto links = table(to);
  const auto left = [&](Vertex v) {
    return links[static_cast<std::size_t>(index_[static_cast<std::size_t>(v)])];
  };
  while (from != to) {
    const int nearer = left(from) - 1;
    const auto leads = [&](Lane lane) {
      const Vertex next = graph_->head(lane);
      return passes(next) && left(next) == nearer;
    };
    const auto leaving = adjacency_.leaving(from);
    auto chosen = chooser.pick(static_cast<std::size_t>(std::ranges::count_if(leaving, leads)));
    const auto lane = std::ranges::find_if(leaving, [&](Lane each) { return leads(each) && chosen-- == 0; });
    lanes.push_back(*lane);
    from = graph_->head(*lane);
  }
}

// Returns the length of the path that begins and ends with these lanes; `last` leaves the destination.
int ShortestPaths::length(Lane first, Lane last, Vertex destination) const {
  const Vertex entered = graph_->head(first);
  if (entered == destination) return first == turned(last) ? 1 : unreachable;
  const Vertex left = graph_->head(last);
  if (!passes(entered) || !passes(left)) return unreachable;
  return 2 + distance(entered, left);
}

bool ShortestPaths::route_between(const Ends& ends, const RouteRequest& request,
                                  std::vector<Lane>& lanes) const {
  int shortest = unreachable;
  std::size_t ties = 0;
  for (const Lane first : ends.first) {
    for (const Lane last : ends.last) {
      const int links = length(first, last, request.destination);
      if (links >= unreachable || links > shortest) continue;
      ties = links < shortest ? 1 : ties + 1;
      shortest = links;
    }
  }
  if (ties == 0) return false;
  PathChooser chooser(request, spread_, seed_);
  auto chosen = chooser.pick(ties);
  for (const Lane first : ends.first) {
    for (const Lane last : ends.last) {
      if (length(first, last, request.destination) != shortest || chosen-- != 0) continue;
      lanes.push_back(first);
      if (shortest > 1) {
        walk(graph_->head(first), graph_->head(last), chooser, lanes);
        lanes.push_back(turned(last));
      }
      return true;
    }
  }
  return false;
}

void ShortestPaths::route(const RouteRequest& request, std::vector<Lane>& lanes) const {
  const Ends all{adjacency_.leaving(request.source), adjacency_.leaving(request.destination)};
  Ends asked = all;
  const auto narrow = [](std::span<const Lane>& ends, int adapter) {
    if (adapter >= 0 && static_cast<std::size_t>(adapter) < ends.size())
      ends = ends.subspan(static_cast<std::size_t>(adapter), 1);
  };
  if (!passes(request.source)) narrow(asked.first, request.source_adapter);
  if (!passes(request.destination)) narrow(asked.last, request.destination_adapter);
  if (route_between(asked, request, lanes)) return;
  asked.last = all.last;
  if (route_between(asked, request, lanes) || route_between(all, request, lanes)) return;
  throw UsageError("there is no path from " + graph_->name(request.source) + " to " +
                   graph_->name(request.destination));
}

int ShortestPaths::distance_to_host(Vertex from, Vertex host) const {
  if (from == host) return 0;
  if (passes(host) && passes(from)) return distance(from, host);
  int shortest = unreachable;
  for (const Lane lane : adjacency_.leaving(host)) {
    const Vertex last = graph_->head(lane);
    if (last == from) return 1;
    if (!passes(last)) continue;
    if (passes(from)) {
      shortest = std::min(shortest, 1 + distance(from, last));
      continue;
    }
    for (const Lane first : adjacency_.leaving(from)) {
      const Vertex entered = graph_->head(first);
      if (passes(entered)) shortest = std::min(shortest, 2 + distance(entered, last));
    }
  }
  return shortest;
}

void ShortestPaths::first_lanes(Vertex from, Vertex host, std::vector<Lane>& lanes) const {
  const int links = distance_to_host(from, host);
  if (links >= unreachable) return;
  for (const Lane lane : adjacency_.leaving(from)) {
    const Vertex next = graph_->head(lane);
    if (next == host || (passes(next) && distance_to_host(next, host) == links - 1)) lanes.push_back(lane);
  }
}

}  // namespace crosscut::networks
