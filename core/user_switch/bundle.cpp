#include "user_switch/bundle.hpp"

#include <algorithm>
#include <cstring>

#include "user_switch/ethernet.hpp"

namespace crosscut::user_switch {
namespace {

// struct virtio_net_hdr from linux/virtio_net.h, which does not compile as C++. In the machine's byte order.
struct Offload {
  std::uint8_t flags, kind;
  std::uint16_t header_bytes, segment_bytes, checksum_from, checksum_offset;
};
static_assert(sizeof(Offload) == offload_bytes);
constexpr unsigned needs_checksum = 1;                                            // in `flags`
constexpr unsigned no_segments = 0, tcp_ipv4 = 1, tcp_ipv6 = 4, with_ecn = 0x80;  // in `kind`

constexpr std::uint16_t type_vlan = 0x8100;
constexpr std::size_t ethernet_bytes = header_bytes, vlan_bytes = 4, ipv4_shortest = 20, ipv6_bytes = 40,
                      tcp_shortest = 20;
// Offsets within the headers: RFC 791, RFC 8200, RFC 9293.
constexpr std::size_t ipv4_length = 2, ipv4_id = 4, ipv4_fragment = 6, ipv4_protocol = 9, ipv4_checksum = 10,
                      ipv4_source = 12, ipv6_length = 4, ipv6_next = 6, ipv6_source = 8, tcp_sequence = 4,
                      tcp_offset = 12, tcp_flags = 13, tcp_checksum = 16;
constexpr std::uint8_t flag_fin = 0x01, flag_push = 0x08, flag_cwr = 0x80;

void set_word(std::span<std::byte> bytes, std::size_t at, std::size_t value) {
  bytes[at] = static_cast<std::byte>(value >> 8);
  bytes[at + 1] = static_cast<std::byte>(value);
}

Offload offload_of(std::span<const std::byte> offloaded) {
  Offload header{};
  std::memcpy(&header, offloaded.data(), sizeof header);
  return header;
}

// Returns the sum of 16-bit words to be folded (RFC 1071). An odd last byte is padded with a 0.
std::uint64_t sum_of(std::span<const std::byte> bytes, std::uint64_t sum = 0) {
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += word_at(bytes, i);
  if (bytes.size() % 2 == 1) sum += byte_at(bytes, bytes.size() - 1) << 8;
  return sum;
}
std::uint16_t folded(std::uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffffu) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

// Returns the checksum of addresses, protocol and length.
std::uint16_t pseudo_header(std::span<const std::byte> network, bool is_ipv6, std::size_t tcp_bytes) {
  const auto addresses = is_ipv6 ? network.subspan(ipv6_source, std::size_t{2} * 16)
                                 : network.subspan(ipv4_source, std::size_t{2} * 4);
  return folded(sum_of(addresses, protocol_tcp + (tcp_bytes >> 16) + (tcp_bytes & 0xffffu)));
}

// Returns where TCP begins in a packet that is one whole TCP segment, otherwise 0.
std::size_t tcp_at(std::span<const std::byte> packet, bool is_ipv6) {
  if (is_ipv6) {
    const bool fits = packet.size() >= ipv6_bytes && byte_at(packet, 0) >> 4 == 6;
    return fits && byte_at(packet, ipv6_next) == protocol_tcp ? ipv6_bytes : 0;
  }
  if (packet.size() < ipv4_shortest || byte_at(packet, 0) >> 4 != 4) return 0;
  const std::size_t length = std::size_t{4} * (byte_at(packet, 0) & 0x0fu);
  const bool is_fragment = (word_at(packet, ipv4_fragment) & 0x3fffu) != 0;
  return length >= ipv4_shortest && !is_fragment && byte_at(packet, ipv4_protocol) == protocol_tcp ? length
                                                                                                   : 0;
}

std::optional<Bundle> read_segments(const Offload& offload, std::span<const std::byte> frame) {
  constexpr std::size_t vlan_type_at = 16;
  std::size_t network_at = ethernet_bytes;
  auto type = word_at(frame, ethernet_bytes - 2);
  if (type == type_vlan && frame.size() >= ethernet_bytes + vlan_bytes) {
    type = word_at(frame, vlan_type_at);
    network_at += vlan_bytes;
  }
  const bool is_ipv6 = type == type_ipv6;
  const auto kind = offload.kind & ~with_ecn;
  if (kind != (is_ipv6 ? tcp_ipv6 : tcp_ipv4)) return std::nullopt;
  if (!is_ipv6 && type != type_ipv4) return std::nullopt;
  const auto in_packet = tcp_at(frame.subspan(network_at), is_ipv6);
  const auto transport_at = network_at + in_packet;
  const bool is_partial = (offload.flags & needs_checksum) != 0;
  if (in_packet == 0 || !is_partial || offload.checksum_from != transport_at ||
      offload.checksum_offset != tcp_checksum || frame.size() < transport_at + tcp_shortest)
    return std::nullopt;
  const auto header = transport_at + std::size_t{4} * (byte_at(frame, transport_at + tcp_offset) >> 4);
  if (header < transport_at + tcp_shortest || header >= frame.size() || offload.segment_bytes == 0)
    return std::nullopt;
  const auto frames = (frame.size() - header + offload.segment_bytes - 1) / offload.segment_bytes;
  if (frames > bundle_frames_max) return std::nullopt;
  return Bundle{.frames = static_cast<std::uint16_t>(frames),
                .header_bytes = static_cast<std::uint16_t>(header),
                .network_at = static_cast<std::uint16_t>(network_at),
                .transport_at = static_cast<std::uint16_t>(transport_at),
                .segment_bytes = offload.segment_bytes,
                .is_ipv6 = is_ipv6,
                .bytes = static_cast<std::uint32_t>(frame.size())};
}

// Sets length, identification and checksum in a run's network header. `header` excludes the offload header.
void fit_network(const Bundle& bundle, std::span<std::byte> header, int first, std::size_t payload_bytes) {
  const auto network = header.subspan(bundle.network_at);
  const auto after = bundle.header_bytes - bundle.network_at + payload_bytes;
  if (bundle.is_ipv6) {
    set_word(network, ipv6_length, after - ipv6_bytes);
    return;
  }
  set_word(network, ipv4_length, after);
  set_word(network, ipv4_id, word_at(network, ipv4_id) + static_cast<unsigned>(first));
  set_word(network, ipv4_checksum, 0);
  const auto whole = network.first(bundle.transport_at - bundle.network_at);
  set_word(network, ipv4_checksum, static_cast<std::uint16_t>(~folded(sum_of(whole))));
}

void fit_transport(const Bundle& bundle, std::span<std::byte> header, int first, int count,
                   std::size_t payload_bytes) {
  const auto tcp = header.subspan(bundle.transport_at);
  const auto passed = static_cast<std::uint32_t>(first) * bundle.segment_bytes;
  const auto sequence =
      (word_at(tcp, tcp_sequence) << 16 | word_at(tcp, tcp_sequence + 2)) + std::uint32_t{passed};
  set_word(tcp, tcp_sequence, sequence >> 16);
  set_word(tcp, tcp_sequence + 2, sequence & 0xffffu);
  auto flags = byte_at(tcp, tcp_flags);
  if (first > 0) flags &= ~unsigned{flag_cwr};
  if (first + count < bundle.frames) flags &= ~unsigned{flag_fin | flag_push};
  tcp[tcp_flags] = static_cast<std::byte>(flags);
  const auto tcp_bytes = bundle.header_bytes - bundle.transport_at + payload_bytes;
  set_word(tcp, tcp_checksum, pseudo_header(header.subspan(bundle.network_at), bundle.is_ipv6, tcp_bytes));
}

}  // namespace

std::int64_t Bundle::frame_bytes(int number) const {
  if (header_bytes == 0) return bytes;
  const std::int64_t left = std::int64_t{bytes} - header_bytes - std::int64_t{number} * segment_bytes;
  return header_bytes + std::min<std::int64_t>(left, segment_bytes);
}

std::optional<Bundle> read_bundle(std::span<const std::byte> offloaded) {
  if (offloaded.size() < offload_bytes + ethernet_bytes) return std::nullopt;
  const auto offload = offload_of(offloaded);
  const auto frame = offloaded.subspan(offload_bytes);
  if (offload.kind == no_segments) return Bundle{.bytes = static_cast<std::uint32_t>(frame.size())};
  return read_segments(offload, frame);
}

Run run_of(const Bundle& bundle, std::span<const std::byte> offloaded, int first, int count) {
  Run run;
  run.header_bytes = offload_bytes + bundle.header_bytes;
  const auto from = run.header_bytes + static_cast<std::size_t>(first) * bundle.segment_bytes;
  const auto bytes =
      std::min(static_cast<std::size_t>(count) * bundle.segment_bytes, offloaded.size() - from);
  run.payload = offloaded.subspan(from, bytes);
  const auto whole = std::span(run.header).first(run.header_bytes);
  std::ranges::copy(offloaded.first(run.header_bytes), whole.begin());
  auto offload = offload_of(offloaded);
  offload.header_bytes = bundle.header_bytes;
  // ECN belongs to CWR, which only the first frame keeps.
  if (first > 0) offload.kind &= static_cast<std::uint8_t>(~with_ecn);
  if (count == 1) {
    offload.kind = no_segments;
    offload.segment_bytes = 0;
  }
  std::memcpy(whole.data(), &offload, sizeof offload);
  const auto header = whole.subspan(offload_bytes);
  fit_network(bundle, header, first, bytes);
  fit_transport(bundle, header, first, count, bytes);
  return run;
}

bool complete_checksum(std::span<std::byte> offloaded) {
  if (offloaded.size() < offload_bytes) return false;
  auto offload = offload_of(offloaded);
  if ((offload.flags & needs_checksum) == 0) return true;
  const auto frame = offloaded.subspan(offload_bytes);
  const std::size_t at = std::size_t{offload.checksum_from} + offload.checksum_offset;
  if (offload.checksum_from > frame.size() || at + 2 > frame.size()) return false;
  set_word(frame, at, static_cast<std::uint16_t>(~folded(sum_of(frame.subspan(offload.checksum_from)))));
  offload.flags &= static_cast<std::uint8_t>(~needs_checksum);
  std::memcpy(offloaded.data(), &offload, sizeof offload);
  return true;
}

}  // namespace crosscut::user_switch
