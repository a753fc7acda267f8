// Which TAP device is which host's adapter: the list that whoever builds the namespaces hands over.
//
// JSON, an object a line; the list ends with an empty line or the end of the file:
// {"host": "n0000", "adapter": 0, "netns": "/run/netns/n0", "tap": "eth0", "mac": "02:cc:00:00:00:00",
//  "addresses": ["10.0.0.1"]}
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

// Throws UsageError naming file and line. `text` is all of the list.
std::vector<TapEntry> parse_taps(std::string_view text, const std::string& path,
                                 const networks::Network& network, const Wiring& wiring);

}  // namespace crosscut::user_switch
