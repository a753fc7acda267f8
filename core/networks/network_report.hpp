// Describes a network as JSON, and that JSON as text for people.
#pragma once

#include <string>

#include "base/json.hpp"
#include "networks/network.hpp"

namespace crosscut::networks {

json::Value describe_network(const Network& network);
// Returns vertices, edges, groups and levels for drawing. Throws UsageError if there are too many to draw.
json::Value describe_graph(const Network& network);
json::Value describe_route(const Network& network, const std::string& source, const std::string& destination,
                           std::uint64_t key);
// Returns the IP routing table of each host that forwards. Throws UsageError if none does.
json::Value describe_tables(const Network& network);

// Returns vertices, edges, and the paths of all pairs of hosts, cut at the hosts that they pass:
//
// - routes[{host, adapter, at: [[u, lane, next, entering]]}]: at host u, traffic for (host, adapter) leaves
//   by `lane` for host `next`, which it enters by its adapter `entering`.
// - segments[{host, adapter, at: [[switch, lane]]}]: at a switch, traffic that enters host by its adapter
//   leaves by `lane`.
//
// Paths to one destination are merged into a tree, since tables know only the destination. If the file
// spreads flows by a hash, the paths are those of destination-modulo, and `equal_ways` is true if that makes
// a difference. Adapter -1 is that of a forwarding host, whose name stands for all its adapters. Throws
// UsageError if there are too many hosts.
json::Value describe_paths(const Network& network);

std::string network_text(const json::Value& described);
std::string route_text(const json::Value& described);

}  // namespace crosscut::networks
