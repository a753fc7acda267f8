// What is wrong with a cable, as whoever runs the emulation has it: data alone.
#pragma once

#include <cstdint>
#include <optional>

#include "user_switch/port.hpp"

namespace crosscut::user_switch {

// When frames are lost at a host's adapter.
struct Outage {
  bool in = false, out = false;       // what comes to the host, what leaves it
  bool shows = false;                 // the host sees its carrier go meanwhile
  std::int64_t lasts = 0, every = 0;  // nanoseconds, from one beginning to the next; 0: all the time
  bool is_any() const { return in || out; }
  bool is_now(std::int64_t since_began) const {
    return is_any() && (every == 0 || since_began % every < lasts);
  }
  friend bool operator==(const Outage&, const Outage&) = default;
};

struct CableFault {
  Port port;
  double in_share = 1, out_share = 1;  // of its rate, what is left
  bool half_duplex = false;
  std::optional<Port> place{};  // its cable is at that one's switch
  bool is_known = false;        // the tables of all switches know that; else nobody finds it
  Outage outage{};
};

}  // namespace crosscut::user_switch
