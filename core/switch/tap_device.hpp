// TAP devices in network namespaces: made there, owned by this process, gone with it.
#pragma once

#include <string>

#include "fd.hpp"
#include "tap_list.hpp"

namespace crosscut::frames {

struct TapSettings {
  int mtu = 1500;
  int queue_frames = 500;  // that wait in the host for the switch to take them (txqueuelen)
  bool checksums = false;  // the hosts compute and check them
};

// Bytes before every frame read or written: struct virtio_net_hdr, passed on as it came. It says which
// checksum the sender has left out.
inline constexpr std::size_t offload_bytes = 10;

// Never takes a device that exists. Throws RunError naming namespace and device.
Fd make_tap(const TapEntry& entry, const TapSettings& settings);
// Frames that the host lost because its queue was full (the device's tx_dropped); -1: unknown.
std::int64_t lost_in_host(const TapEntry& entry);

}  // namespace crosscut::frames
