// What this node is: names and identities that stay the same from run to run, and the adapters' counters.
#pragma once

#include <span>
#include <string>

#include "base/json.hpp"
#include "session/socket.hpp"

namespace crosscut::measure {

std::string host_name();
// Stays the same from run to run: the machine's id, hashed (man 5 machine-id asks not to expose it), and the
// network namespace where several share a machine.
std::string node_id();

// {name, id, kernel, cores, adapters: [{name, address, mac, speed_mbit_s}]} with the adapters of
// `interfaces`.
json::Value node_facts(std::span<const session::Address> interfaces);
// {interface: {counter: value}, "tcp": {counter: value}} of those adapters and this network namespace.
json::Value node_counters(std::span<const session::Address> interfaces);
// System-wide TCP settings that shape results.
json::Value tcp_settings();

}  // namespace crosscut::measure
