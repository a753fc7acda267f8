// The command line of crosscut-switch.
#pragma once

#include <string>

#include "user_switch/emulation.hpp"
#include "user_switch/wiring.hpp"

namespace crosscut::user_switch {

struct Options {
  std::string network, taps, faults;
  SwitchModel how;
  bool framing_given = false;  // false: the network's own, if it has one
  TapSettings tap;
  Pace pace;
  double dilation = 1;  // all rates are divided by it
  double seconds = 0;
  bool help = false, version = false;
};

// Throws UsageError naming the option.
Options parse_options(int argc, char** argv);
extern const char* const usage;

}  // namespace crosscut::user_switch
