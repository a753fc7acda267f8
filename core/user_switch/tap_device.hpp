// TAP devices in network namespaces: made there, owned by this process, gone with it.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "user_switch/lists.hpp"

namespace crosscut::user_switch {

struct TapSettings {
  int mtu = 1500;
  int queue_frames = 500;  // that wait in the host for the switch to take them (txqueuelen)
  bool checksums = false;  // the hosts compute and check them
};

// The host may hand over so many frames of a TCP connection in one piece. Never takes a device that exists.
// Throws RunError naming namespace and device.
Fd make_tap(const TapEntry& entry, const TapSettings& settings, int frames_at_once);
// As if the cable was pulled (false), or back; RunError where this kernel's TAPs have no carrier
// (before 5.0).
void set_carrier(const Fd& tap, const TapEntry& entry, bool is_there);
// Frames that the host lost because its queue was full (the device's tx_dropped); -1: unknown.
std::int64_t lost_in_host(const TapEntry& entry);

}  // namespace crosscut::user_switch
