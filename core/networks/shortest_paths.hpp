// Distances and paths among the vertices that forward messages: switches, and hosts that forward.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {

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

}  // namespace crosscut::networks
