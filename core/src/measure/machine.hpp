// Describes this node: its lasting name and identity, and the settings and counters of its adapters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "session/socket.hpp"

namespace crosscut::measure {

// Returns {mtu, speed_mbit_s, duplex, driver, offloads: {name: on}} of a network interface. What the
// kernel or the driver (SIOCETHTOOL) does not report is null or left out.
json::Object adapter_settings(const std::string& name);

// Returns {counter: value} of a network interface: the kernel's statistics; `carrier_changes`; the driver's
// counters (as shown by `ethtool -S`) that are above zero and pass tells_of_trouble(), as `driver.NAME`; and
// the counters of the InfiniBand port behind the interface, as `infiniband.NAME`.
json::Object adapter_counters(const std::string& name);

// True if a driver counter's name suggests errors, loss or flow control.
bool tells_of_trouble(const std::string& counter);

// Returns the size of the largest cache of core 0, from /sys; 32 MiB if it is not there.
std::size_t last_level_cache_bytes();
std::string host_name();
// Returns an identity that is the same in every run: a hash of the machine's id and the host name. The id
// itself must not be exposed (man 5 machine-id).
std::string node_id();

// Returns the cores near the adapters of these addresses, ascending; empty if the kernel does not tell.
std::vector<int> cores_near(std::span<const session::Address> interfaces);
// Returns {name, id, kernel, cores, numa_nodes, congestion_control, adapters: [{name, address, mac, ...}]}
// with the adapters of `interfaces`, their adapter_settings() and the cores near them.
json::Value node_facts(std::span<const session::Address> interfaces);
// Returns the name of the adapter with this address of this machine; the address if none has it.
std::string adapter_name(const session::Address& address);
// Returns {interface: {counter: value}, "tcp": {counter: value}} for those adapters and this network
// namespace.
json::Object node_counters(std::span<const session::Address> interfaces);
// What adapters have sent since they came up.
struct Sent {
  std::int64_t bytes = 0, frames = 0;
};
// Returns the sum over this network namespace's interfaces but loopback, and the InfiniBand ports behind
// them. A frame may be one of the kernel's, which the adapter cuts.
Sent sent_by_adapters();
// Returns the system-wide TCP settings that affect results.
json::Value tcp_settings();

}  // namespace crosscut::measure
