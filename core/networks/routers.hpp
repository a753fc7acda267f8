// Routing where a generator does not compute it from coordinates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

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

// Routers keep a reference to the graph, which must outlive them and stay as it is.

// Routes with the fewest links, through switches and hosts that forward. Distances to each switch (or
// forwarding host) are computed on first use and kept. Throws UsageError if there are too many such vertices.
// A requested adapter is ignored if no path leads through it, or if the host forwards: there the routing
// chooses the interface. route() throws UsageError if there is no path at all.
std::unique_ptr<Router> shortest_paths(const Graph& graph, Spread spread, std::uint64_t seed);

// Tables written by a person: at a vertex, towards a destination, the neighbour. Where they have no entry,
// fewest links. Throws UsageError that names the first loop.
struct StaticRoute {
  Vertex at = 0, destination = 0, via = 0;
};
std::unique_ptr<Router> static_routes(const Graph& graph, std::vector<StaticRoute> routes, Spread spread,
                                      std::uint64_t seed);

// IP routing tables of hosts that forward (Salmon, Stein and Sterling, SC98, section 3.2). Paths have the
// fewest hosts, then the fewest wires between hosts, then the fewest links. Among equal paths, those that
// enter the destination by its own wire are preferred to those through its switch. If several gateways
// remain, the hosts of a switch take turns, so that each gateway serves equally many.
class ShortestPaths;
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
  ~HostRoutes() override;
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
  std::unique_ptr<ShortestPaths> within_;         // paths through switches only
  std::vector<std::vector<NextHop>> neighbours_;  // [host]
  std::vector<NextHop> table_;                    // [host][destination]
};

}  // namespace crosscut::networks
