// How messages find their way where a generator does not compute it from coordinates.
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
  // `wired`: also against the direction of links that go one way.
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

// Fewest links, through switches and hosts that forward. Distances are kept per switch (and host that
// forwards) that messages are for, made when first asked for. Throws UsageError where there are too many of
// them. An adapter that was asked for is left aside where no way leads through it, and where the host at its
// end forwards: there the routing says by which interface. route() throws UsageError where there is no way at
// all.
std::unique_ptr<Router> shortest_paths(const Graph& graph, Spread spread, std::uint64_t seed);

// Tables written out by a person: at a vertex, towards a destination, the neighbour. Where they say nothing,
// fewest links. Throws UsageError naming the first loop.
struct StaticRoute {
  Vertex at = 0, destination = 0, via = 0;
};
std::unique_ptr<Router> static_routes(const Graph& graph, std::vector<StaticRoute> routes, Spread spread,
                                      std::uint64_t seed);

// IP routing tables of hosts that forward (Salmon, Stein and Sterling, SC98, section 3.2): ways pass the
// fewest hosts, then the fewest wires between hosts, then the fewest links; of equal ones those that enter
// the destination by its own wire rather than by its switch; of several gateways left, the hosts of a switch
// take turns, so that each gateway serves as many of them.
class ShortestPaths;
class HostRoutes : public Router {
 public:
  struct NextHop {
    Vertex host = -1;    // the destination itself where it is a neighbour
    Lane lane = -1;      // by which the message leaves: the interface
    Lane entering = -1;  // by which it arrives at `host`
    int links = 0;       // up to there
  };
  struct Length {
    int hops = 0, links = 0;  // hops: gateways passed + 1
  };
  using Cost = std::tuple<int, int, int, int>;

  // Throws UsageError where there are too many, or where one cannot reach
  // another.
  HostRoutes(const Graph& graph, std::uint64_t seed);
  ~HostRoutes() override;
  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override;
  const NextHop& next_hop(Vertex host, Vertex destination) const {
    return table_[static_cast<std::size_t>(host) * static_cast<std::size_t>(graph_->hosts) +
                  static_cast<std::size_t>(destination)];
  }
  // Of the way that the tables lead.
  Length length(Vertex source, Vertex destination) const;

 private:
  void fill(Vertex destination);
  void walk_all(Vertex destination, const std::vector<Cost>& cost) const;

  const Graph* graph_;
  std::unique_ptr<ShortestPaths> within_;         // a segment of switches: never through a host
  std::vector<std::vector<NextHop>> neighbours_;  // [host]
  std::vector<NextHop> table_;                    // [host][destination]
};

}  // namespace crosscut::networks
