// The lists that crosscut-switch is handed: which TAP device is which host's adapter, and which cables are
// bad and how. JSON, an object a line. Adapters are named by "host", a name or a number, and "adapter" (else
// 0).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "networks/network.hpp"
#include "user_switch/ethernet.hpp"
#include "user_switch/wiring.hpp"

namespace crosscut::user_switch {

struct TapEntry {
  Port port;
  std::string netns;  // path of a network namespace
  std::string tap;    // name of the device there
  Mac mac{};
  std::vector<Ipv4> addresses;  // for which the switch answers ARP
};

// From whoever builds the namespaces; the list ends with an empty line or the end of the file:
// {"host": "n0000", "adapter": 0, "netns": "/run/netns/n0", "tap": "eth0", "mac": "02:cc:00:00:00:00",
//  "addresses": ["10.0.0.1"]}
// Throws UsageError naming file and line. `text` is all of the list.
std::vector<TapEntry> parse_taps(std::string_view text, const std::string& path,
                                 const networks::Network& network, const Wiring& wiring);

// Read at the start, and again at SIGUSR2; none: all is well. Beside "host" and "adapter":
// {"host": "n3", "in": 0.1, "out": 0.1}                          shares of its rate, to the host and from it
// {"host": "n3", "half_duplex": true}                            both directions share the rate
// {"host": "n3", "lose": "both", "seconds": 0.02, "every": 1}    "in", "out"; without times: always
// {"host": "n3", "lose": "both", "carrier": true, ...}           the host sees its link go
// {"host": "n3", "at": "n5", "known": true}                      its cable is at that host's switch
// Throws UsageError naming file and line.
std::vector<CableFault> parse_faults(std::string_view text, const std::string& path,
                                     const networks::Network& network, const Wiring& wiring);

}  // namespace crosscut::user_switch
