// Identifies this node: names and identities that are the same in every run, and the counters of its
// adapters.
#pragma once

#include <span>
#include <string>

#include "base/json.hpp"
#include "session/socket.hpp"

namespace crosscut::measure {

std::string host_name();
// Returns an identity that is the same in every run: the machine's id, hashed (man 5 machine-id asks not to
// expose it), with the network namespace if several share a machine.
std::string node_id();

// Returns {name, id, kernel, cores, congestion_control, adapters: [{name, address, mac, settings}]} with the
// adapters of `interfaces`; settings: those of adapter_settings().
json::Value node_facts(std::span<const session::Address> interfaces);
// Returns {interface: {counter: value}, "tcp": {counter: value}} for those adapters and this network
// namespace.
json::Value node_counters(std::span<const session::Address> interfaces);
// Returns the system-wide TCP settings that affect results.
json::Value tcp_settings();

}  // namespace crosscut::measure
