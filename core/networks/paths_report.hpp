// A network as an emulated cluster is built from it: everything that a link or a switch is, and who passes
// what to whom.
#pragma once

#include "base/json.hpp"
#include "networks/network.hpp"

namespace crosscut::networks {

// Vertices, edges, and the ways of all pairs of hosts, cut at the hosts that they pass:
//   routes[{host, adapter, at: [[u, lane, next, entering]]}]  at host u, what is for (host, adapter) leaves
//   by
//       `lane` for host `next`, which it enters by its adapter `entering`
//   segments[{host, adapter, at: [[switch, lane]]}]  at a switch, what enters host by its adapter leaves by
//   `lane`
// Ways to one destination are merged into a tree, as tables that know a destination alone must have them:
// where the file spreads flows by a hash they are those of destination-modulo, and `equal_ways` says whether
// that makes a difference. Adapter -1: of a host that forwards, whose name means all its adapters. Throws
// UsageError where there are too many hosts.
json::Value describe_paths(const Network& network);

}  // namespace crosscut::networks
