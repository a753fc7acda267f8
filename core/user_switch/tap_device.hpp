// TAP devices in network namespaces: created there, owned by this process, and gone when it ends.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "user_switch/lists.hpp"

namespace crosscut::user_switch {

struct TapSettings {
  int mtu = 1500;
  int queue_frames = 500;  // waiting in the host for the switch (txqueuelen)
  bool checksums = false;  // hosts compute and check them
};

// Creates a TAP device. The host may pass on up to `frames_at_once` frames of a TCP connection in one piece.
// Throws RunError naming namespace and device, also if the device exists.
Fd make_tap(const TapEntry& entry, const TapSettings& settings, int frames_at_once);
// Pulls the cable (false) or plugs it in. Throws RunError if the kernel's TAPs have no carrier (before 5.0).
void set_carrier(const Fd& tap, const TapEntry& entry, bool is_there);
// Returns the frames that the host lost because its queue was full (the device's tx_dropped); -1: unknown.
std::int64_t lost_in_host(const TapEntry& entry);

}  // namespace crosscut::user_switch
