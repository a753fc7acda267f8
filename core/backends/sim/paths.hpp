// Which way messages between ranks go: what the simulator asks of a network.
#pragma once

#include <span>
#include <vector>

#include "networks/network.hpp"
#include "program/program.hpp"

namespace crosscut::backends::sim {

struct Route {
  Rank source = 0, destination = 0;
  std::uint8_t channel = 0, rail = 0;
};

// Called from several threads.
class Paths {
 public:
  virtual ~Paths() = default;
  // Payload bytes per second; outlives all use.
  virtual std::span<const double> capacities() const = 0;
  // Appends the capacities that the bytes pass, the sender's own link first, the receiver's last; returns the
  // latency in seconds, without the overheads.
  virtual double path(const Route& route, std::vector<networks::CapacityIndex>& uses) const = 0;
  // Seconds of the rank's own time for each message.
  virtual double send_overhead(Rank rank) const = 0;
  virtual double receive_overhead(Rank rank) const = 0;
};

// Ranks on the hosts of a network, in blocks: rank r on host r / ranks_per_host.
class NetworkPaths final : public Paths {
 public:
  NetworkPaths(const networks::Network& network, int ranks_per_host)
      : network_(network), ranks_per_host_(ranks_per_host) {}

  std::span<const double> capacities() const override { return network_.capacities(); }
  double path(const Route& route, std::vector<networks::CapacityIndex>& uses) const override;
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

}  // namespace crosscut::backends::sim
