// The simulator's view of a network: the paths of messages between ranks, capacities and overheads.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "networks/network.hpp"
#include "program/program.hpp"

namespace crosscut::backends::sim {

struct Route {
  Rank source = 0, destination = 0;
  std::uint8_t channel = 0, rail = 0;
};

// Returns the hash key of a connection. Like a real connection's ports, it is the same for all its messages
// and differs between pairs of ranks, channels and rails.
inline std::uint64_t connection_key(const Route& route) {
  const auto ends = static_cast<std::uint64_t>(static_cast<std::uint32_t>(route.source)) << 32 |
                    static_cast<std::uint32_t>(route.destination);
  const auto lane = static_cast<std::uint64_t>(route.channel) << 8 | route.rail;
  return Random(ends).next() ^ Random(lane + 1).next();
}

// Interface of a network's paths. Several threads call it at once.
class Paths {
 public:
  virtual ~Paths() = default;
  // Returns payload bytes per second, [capacity]. The span stays valid as long as this object.
  virtual std::span<const double> capacities() const = 0;
  // Appends the capacities that the bytes pass, from the sender's own link to the receiver's. Returns the
  // latency in seconds, without the overheads.
  virtual double path(const Route& route, std::vector<networks::CapacityIndex>& uses) const = 0;
  // Return the seconds of the rank's own time that each message takes.
  virtual double send_overhead(Rank rank) const = 0;
  virtual double receive_overhead(Rank rank) const = 0;
};

// Paths between ranks that are placed on hosts in blocks: rank r is on host r / ranks_per_host.
class NetworkPaths final : public Paths {
 public:
  NetworkPaths(const networks::Network& network, int ranks_per_host)
      : network_(network), ranks_per_host_(ranks_per_host) {}

  std::span<const double> capacities() const override { return network_.capacities(); }
  double path(const Route& route, std::vector<networks::CapacityIndex>& uses) const override {
    return network_.path({.source = host(route.source),
                          .destination = host(route.destination),
                          .source_adapter = adapter(route.source, route.rail),
                          .destination_adapter = adapter(route.destination, route.rail),
                          .key = connection_key(route)},
                         uses);
  }
  double send_overhead(Rank rank) const override { return network_.graph.host(host(rank)).send_overhead; }
  double receive_overhead(Rank rank) const override {
    return network_.graph.host(host(rank)).receive_overhead;
  }
  networks::Vertex host(Rank rank) const { return rank / ranks_per_host_; }

 private:
  int adapter(Rank rank, int rail) const {
    return network_.adapter(host(rank), rank % ranks_per_host_, ranks_per_host_, rail);
  }

  const networks::Network& network_;
  int ranks_per_host_;
};

// Paths between ranks in any order: rank r is where `blocks` has rank place[r].
class OrderedPaths final : public Paths {
 public:
  // `blocks` must outlive this object.
  OrderedPaths(const Paths& blocks, std::vector<Rank> place) : blocks_(blocks), place_(std::move(place)) {}

  std::span<const double> capacities() const override { return blocks_.capacities(); }
  double path(const Route& route, std::vector<networks::CapacityIndex>& uses) const override {
    auto placed = route;
    placed.source = place(route.source);
    placed.destination = place(route.destination);
    return blocks_.path(placed, uses);
  }
  double send_overhead(Rank rank) const override { return blocks_.send_overhead(place(rank)); }
  double receive_overhead(Rank rank) const override { return blocks_.receive_overhead(place(rank)); }

 private:
  Rank place(Rank rank) const { return place_[static_cast<std::size_t>(rank)]; }

  const Paths& blocks_;
  std::vector<Rank> place_;
};

}  // namespace crosscut::backends::sim
