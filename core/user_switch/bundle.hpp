// TCP segments that a host sends or receives in one piece, because adapters split and join them (TSO, LRO).
// In the network between, each segment is a frame of its own.
//
// A bundle is an oversized frame behind a `virtio_net_hdr`, which gives the payload length of each segment
// (VIRTIO 1.2, 5.1.6.2). Nothing here trusts what a host has written into it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace crosscut::user_switch {

// Bytes before every frame read or written: struct virtio_net_hdr. It tells which checksum the sender left
// out, and how long segments are.
inline constexpr std::size_t offload_bytes = 10;
inline constexpr int bundle_frames_max = 64;

struct Bundle {
  std::uint16_t frames = 1;
  // Bytes of Ethernet, IP and TCP headers, repeated in every frame; 0: a single frame, passed on unchanged.
  std::uint16_t header_bytes = 0;
  std::uint16_t network_at = 0, transport_at = 0;  // in the frame, without the offload header
  std::uint16_t segment_bytes = 0;                 // payload of every frame but the last
  bool is_ipv6 = false;
  std::uint32_t bytes = 0;  // of the whole bundle, without the offload header

  // Returns the bytes of frame `number`, including its headers but without preamble, checksum and gap.
  std::int64_t frame_bytes(int number) const;
};

// Reads the offload header and frame that a host has written. Returns nothing if they contradict each other,
// or if the frame stands for several but is not TCP.
std::optional<Bundle> read_bundle(std::span<const std::byte> offloaded);

// Frames `first` to `first + count - 1` of a bundle in one piece: their own header and part of the payload.
struct Run {
  // With a VLAN tag and all IP and TCP options.
  static constexpr std::size_t header_bytes_max = offload_bytes + 18 + 60 + 60;
  std::array<std::byte, header_bytes_max> header;
  std::size_t header_bytes = 0;
  std::span<const std::byte> payload;
};
// Returns such a run. Sequence number, lengths, identification, flags and checksums are set as if the sender
// had made the frames itself (RFC 9293, 3.1; RFC 791). The TCP checksum remains to be completed: it covers
// the pseudo-header only. `offloaded` must be the data from which the bundle was read, and
// `bundle.header_bytes` must not be 0.
Run run_of(const Bundle& bundle, std::span<const std::byte> offloaded, int first, int count);

// Fills in the checksum that the offload header marks as missing (RFC 1071), as an adapter does. Returns
// false if the header refers to bytes that are not there.
bool complete_checksum(std::span<std::byte> offloaded);

}  // namespace crosscut::user_switch
