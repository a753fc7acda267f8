// TCP segments that a host hands over in one piece, and is handed in one piece: what adapters do for their
// hosts (TSO, LRO). Each is a frame of its own in the network between.
//
// A bundle is a frame whose payload is longer than a frame may be, behind a `virtio_net_hdr` that says how
// long each segment's is (VIRTIO 1.2, 5.1.6.2). Nothing here trusts what a host has written into it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace crosscut::user_switch {

// Bytes before every frame read or written: struct virtio_net_hdr. It says which checksum the sender has left
// out, and how long segments are.
inline constexpr std::size_t offload_bytes = 10;
inline constexpr int bundle_frames_max = 64;

struct Bundle {
  std::uint16_t frames = 1;
  // Bytes of Ethernet, IP and TCP, which every frame of it repeats; 0: a single frame, passed on as it came.
  std::uint16_t header_bytes = 0;
  std::uint16_t network_at = 0, transport_at = 0;  // in the frame, without the offload header
  std::uint16_t segment_bytes = 0;                 // payload of every frame but the last
  bool is_ipv6 = false;
  std::uint32_t bytes = 0;  // all of it, without the offload header

  // Bytes of the frame with that number, as it is on the wire.
  std::int64_t frame_bytes(int number) const;
};

// What a host has handed over, offload header and frame. Nothing: it contradicts itself, or is no TCP and yet
// more than one frame.
std::optional<Bundle> read_bundle(std::span<const std::byte> offloaded);

// Frames `first` to `first + count - 1` in one piece: a header of their own, and their part of the payload.
struct Run {
  static constexpr std::size_t header_bytes_max =
      offload_bytes + 18 + 60 + 60;  // with a VLAN tag, all options
  std::array<std::byte, header_bytes_max> header;
  std::size_t header_bytes = 0;
  std::span<const std::byte> payload;
};
// Sequence number, lengths, identification, flags and checksums are those that the frames have when the
// sender makes them itself (RFC 9293, 3.1; RFC 791). The TCP checksum stays left out: it is that of the
// pseudo-header. `offloaded` must be what the bundle was read from, and `bundle.header_bytes` not 0.
Run run_of(const Bundle& bundle, std::span<const std::byte> offloaded, int first, int count);

// Fills in the checksum that the offload header says was left out (RFC 1071), as an adapter does. Nothing
// where it says so of bytes that are not there.
bool complete_checksum(std::span<std::byte> offloaded);

}  // namespace crosscut::user_switch
