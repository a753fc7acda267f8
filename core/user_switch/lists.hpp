// Lists that crosscut-switch reads: which TAP device belongs to which host's adapter, and which cables are
// faulty and how. One JSON object per line; "host", a name or number, and "adapter" (default 0) name an
// adapter.
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
  std::string tap;    // name of the device in it
  Mac mac{};
  std::vector<Ipv4> addresses;  // for which the switch answers ARP requests
};

// Reads the list that the builder of the namespaces writes. It ends with an empty line or with the text:
//   {"host": "n0000", "adapter": 0, "netns": "/run/netns/n0", "tap": "eth0", "mac": "02:cc:00:00:00:00",
//    "addresses": ["10.0.0.1"]}
// Throws UsageError naming file and line. `text` is the whole list.
std::vector<TapEntry> parse_taps(std::string_view text, const std::string& path,
                                 const networks::Network& network, const Wiring& wiring);

// Reads the list of faults; an empty list means that all cables are fine. Keys beside "host" and "adapter":
//   {"host": "n3", "in": 0.1, "out": 0.1}                        shares of its rate, to and from the host
//   {"host": "n3", "half_duplex": true}                          both directions share the rate
//   {"host": "n3", "lose": "both", "seconds": 0.02, "every": 1}  or "in", "out"; without times: always
//   {"host": "n3", "lose": "both", "carrier": true, ...}         the host sees its link go down
//   {"host": "n3", "at": "n5", "known": true}                    its cable is plugged in at n5's switch
// Throws UsageError naming file and line.
std::vector<CableFault> parse_faults(std::string_view text, const std::string& path,
                                     const networks::Network& network, const Wiring& wiring);

}  // namespace crosscut::user_switch
