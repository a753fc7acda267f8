// Routing where a generator does not compute it from coordinates.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "networks/network.hpp"

namespace crosscut::networks {

// The lanes that leave each vertex, in the order of the edges: a host's k-th is its adapter k.
class Adjacency {
 public:
  // `wired`: includes one-way links against their direction.
  explicit Adjacency(const Graph& graph, bool wired = false);
  std::span<const Lane> leaving(Vertex v) const {
    const auto at = static_cast<std::size_t>(v);
    return {lanes_.data() + first_[at], lanes_.data() + first_[at + 1]};
  }

 private:
  std::vector<std::size_t> first_;  // [vertex + 1]
  std::vector<Lane> lanes_;
};

// Routers keep a reference to the graph, which must outlive them unchanged.

// Chooses among equal paths, hop by hop, always the same for the same flow.
class PathChooser {
 public:
  PathChooser(const RouteRequest& request, Spread spread, std::uint64_t seed);
  std::size_t pick(std::size_t count);

 private:
  Spread spread_;
  std::uint64_t digits_;  // unused digits of the destination's number
  Random random_;
};

// Routes with the fewest links, through switches and hosts that forward. Distances to each switch (or
// forwarding host) are computed on first use and kept. Throws UsageError if there are too many such vertices.
// A requested adapter is ignored if no path leads through it, or if the host forwards: the routing then
// chooses the interface. route() throws UsageError if there is no path at all.
class ShortestPaths : public Router {
 public:
  static constexpr std::uint16_t unreachable = 0xffff;
  enum class Hosts : std::uint8_t { pass_on, never_pass };  // forwarding hosts: passed, or not

  ShortestPaths(const Graph& graph, Spread spread, std::uint64_t seed, Hosts hosts = Hosts::pass_on);

  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override;

  bool passes(Vertex v) const { return index_[static_cast<std::size_t>(v)] >= 0; }
  // Returns the number of links between two forwarding vertices.
  int distance(Vertex from, Vertex to) const {
    return table(to)[static_cast<std::size_t>(index_[static_cast<std::size_t>(from)])];
  }
  // Appends one of the shortest paths between them.
  void walk(Vertex from, Vertex to, PathChooser& chooser, std::vector<Lane>& lanes) const;
  // Returns the number of links from any vertex to a host; `unreachable` or more: no path.
  int distance_to_host(Vertex from, Vertex host) const;
  // Appends the lanes at `from` that begin a shortest path to a host.
  void first_lanes(Vertex from, Vertex host, std::vector<Lane>& lanes) const;

  const Adjacency& adjacency() const { return adjacency_; }
  Spread spread() const { return spread_; }
  std::uint64_t seed() const { return seed_; }

 private:
  struct Ends {
    std::span<const Lane> first, last;  // both leave their end, so `last` must be reversed
  };
  bool route_between(const Ends& ends, const RouteRequest& request, std::vector<Lane>& lanes) const;
  int length(Lane first, Lane last, Vertex destination) const;
  std::span<const std::uint16_t> table(Vertex to) const;

  const Graph* graph_;
  Spread spread_;
  std::uint64_t seed_;
  Adjacency adjacency_;
  std::vector<std::int32_t> index_;  // [vertex]; number among forwarding vertices, or -1
  std::vector<Vertex> passing_;
  // Links, [index of the destination][index]. Each table is written once, under its flag.
  std::unique_ptr<std::once_flag[]> made_;
  mutable std::vector<std::vector<std::uint16_t>> tables_;
};

// An entry of a hand-written table: at this vertex, messages to the destination go to the neighbour `via`.
struct StaticRoute {
  Vertex at = 0, destination = 0, via = 0;
};
// Makes a router from such tables; where they have no entry, it takes the fewest links. Throws UsageError
// that names the first loop.
std::unique_ptr<Router> static_routes(const Graph& graph, std::vector<StaticRoute> routes, Spread spread,
                                      std::uint64_t seed);

// IP routing tables of hosts that forward (Salmon, Stein and Sterling, SC98, section 3.2). Paths have the
// fewest hosts, then the fewest wires between hosts, then the fewest links. Among equal paths, those that
// enter the destination by its own wire are preferred to those through its switch. If several gateways
// remain, the hosts of a switch take turns, so that each gateway serves equally many.
class HostRoutes : public Router {
 public:
  struct NextHop {
    Vertex host = -1;    // the destination itself if it is a neighbour
    Lane lane = -1;      // by which the message leaves (the interface)
    Lane entering = -1;  // by which it arrives at `host`
    int links = 0;       // links up to `host`
  };
  struct Length {
    int hops = 0, links = 0;  // hops: gateways passed + 1
  };
  using Cost = std::tuple<int, int, int, int>;

  // Throws UsageError if there are too many hosts, or if one cannot reach another.
  HostRoutes(const Graph& graph, std::uint64_t seed);
  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override;
  const NextHop& next_hop(Vertex host, Vertex destination) const {
    return table_[static_cast<std::size_t>(host) * static_cast<std::size_t>(graph_->hosts) +
                  static_cast<std::size_t>(destination)];
  }
  // Returns the length of the path that the tables give.
  Length length(Vertex source, Vertex destination) const;

 private:
  void fill(Vertex destination);
  void walk_all(Vertex destination, const std::vector<Cost>& cost) const;

  const Graph* graph_;
  ShortestPaths within_;                          // paths through switches only
  std::vector<std::vector<NextHop>> neighbours_;  // [host]
  std::vector<NextHop> table_;                    // [host][destination]
};

}  // namespace crosscut::networks
