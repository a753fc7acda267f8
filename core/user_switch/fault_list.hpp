// Which cables are bad and how: the list that crosscut-switch reads at its start, and again at SIGUSR2.
//
// JSON, an object a line; none: all is well. Beside "host" and "adapter", as in the list of TAPs:
// {"host": "n3", "in": 0.1, "out": 0.1}                          shares of its rate, to the host and from it
// {"host": "n3", "half_duplex": true}                            both directions share the rate
// {"host": "n3", "lose": "both", "seconds": 0.02, "every": 1}    "in", "out"; without times: always
// {"host": "n3", "lose": "both", "carrier": true, ...}           the host sees its link go
// {"host": "n3", "at": "n5", "known": true}                      its cable is at that host's switch
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "networks/network.hpp"
#include "user_switch/cable_fault.hpp"
#include "user_switch/wiring.hpp"

namespace crosscut::user_switch {

// Throws UsageError naming file and line.
std::vector<CableFault> parse_faults(std::string_view text, const std::string& path,
                                     const networks::Network& network, const Wiring& wiring);

}  // namespace crosscut::user_switch
