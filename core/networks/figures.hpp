// A network's figures for its designer: distances, bisection, counts, cost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "networks/network.hpp"

namespace crosscut::networks {

// Number of other hosts that a host sees at each distance; the mean over hosts if they differ.
struct Distances {
  std::map<int, double> hosts_at_links;  // number of links on the path -> hosts
  // If hosts forward by IP or in their adapters: gateways passed + 1, as traceroute counts. Otherwise:
  // switches passed, at least 1.
  std::map<int, double> hosts_at_hops;
  bool hops_are_gateways = false;
  int diameter_links = 0, diameter_hops = 0;
  double mean_links = 0, mean_hops = 0;
  bool all_see_alike = true;     // among the hosts examined
  std::int64_t looked_from = 0;  // hosts examined; not all for a sample or for equivalent hosts
  bool is_sample = false;
};

// Computes distances. Paths have the fewest hosts, then the fewest links; if hosts have routing tables, paths
// follow the tables. Examines one host if the generator declares all hosts equivalent, and evenly spaced
// hosts if all would take too long.
Distances distances(const Network& network);

struct Bisection {
  double bits_per_second = 0;   // in each direction across the worst cut into halves of hosts
  double per_host = 0;          // over all N hosts
  double per_host_of_half = 0;  // over the floor(N/2) hosts of one half
  double in_links = 0;          // the total in units of a host's first link
  bool is_closed_form = false;  // false: the smallest cut found, an upper bound
  std::string formula;
};

// Returns nothing if there is only one host, or if the network is too large to search for a cut.
std::optional<Bisection> bisection(const Network& network);

struct Counts {
  std::int64_t hosts = 0, switches = 0, links = 0, cables = 0;
  std::int64_t host_links = 0;    // edges with a host at one end or both
  std::int64_t switch_ports = 0;  // wired
  std::int64_t adapters = 0, processors = 0;
};
Counts counts(const Graph& graph);

struct Cost {
  std::string currency;
  double hosts = 0, adapters = 0, switches = 0, ports = 0, cables = 0;
  double total() const { return hosts + adapters + switches + ports + cables; }
};
// Returns nothing if no price is known. Throws UsageError for prices in two currencies.
std::optional<Cost> cost(const Graph& graph);

}  // namespace crosscut::networks
