// What the kernel, the adapter's driver and its InfiniBand port have counted.
#pragma once

#include <string>

#include "base/json.hpp"

namespace crosscut::measure {

// {counter: value} of a network interface: the kernel's statistics; `carrier_changes`; what the driver counts
// beyond zero under a name that means trouble, or pause frames, as `ethtool -S` shows it; and the counters of
// the InfiniBand port behind the interface, as `infiniband.symbol_error`.
json::Object adapter_counters(const std::string& name);

// Whether a driver's counter is about errors, loss or flow control.
bool tells_of_trouble(const std::string& counter);

}  // namespace crosscut::measure
