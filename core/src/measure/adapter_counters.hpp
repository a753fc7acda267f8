// Settings of an adapter, and counters of the kernel, the adapter's driver and its InfiniBand port.
#pragma once

#include <string>

#include "base/json.hpp"

namespace crosscut::measure {

// Returns {mtu, speed_mbit_s, duplex, driver, offloads: {name: on}} of a network interface; what the kernel
// or the driver (SIOCETHTOOL) does not say is null or left out.
json::Object adapter_settings(const std::string& name);

// Returns {counter: value} of a network interface: the kernel's statistics; `carrier_changes`; the driver's
// counters (as shown by `ethtool -S`) that are above zero and that tells_of_trouble() names; and the counters
// of the InfiniBand port behind the interface, as `infiniband.symbol_error`.
json::Object adapter_counters(const std::string& name);

// True if the name of a driver's counter is about errors, loss or flow control.
bool tells_of_trouble(const std::string& counter);

}  // namespace crosscut::measure
