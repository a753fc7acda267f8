// Reads a frame's receiver and flow, and answers ARP requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosscut::user_switch {

inline constexpr std::uint16_t type_ipv4 = 0x0800, type_ipv6 = 0x86dd;
inline constexpr std::uint8_t protocol_tcp = 6;

inline unsigned byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}
inline unsigned word_at(std::span<const std::byte> bytes, std::size_t at) {
  return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1);
}

using Mac = std::array<std::uint8_t, 6>;
using Ipv4 = std::array<std::uint8_t, 4>;

inline constexpr std::size_t header_bytes = 14;

// Returns a locally administered address (IEEE 802, clause 8.4): 02:cc, the adapter, the host's number.
Mac default_mac(std::int32_t host, int adapter);
Mac parse_mac(std::string_view text);    // "02:cc:00:00:00:01"; throws UsageError
Ipv4 parse_ipv4(std::string_view text);  // "10.0.0.1"; throws UsageError
std::string to_text(const Mac& mac);

// Returns true for broadcast and multicast addresses.
inline bool is_group(const Mac& mac) { return mac[0] % 2 == 1; }
// Returns the frame's receiver; nothing if the header is incomplete.
std::optional<Mac> receiver_of(std::span<const std::byte> frame);
// Returns the same number for all frames of a connection in one direction: a hash of addresses, protocol and
// ports (IPv4, IPv6; fragments have no ports).
std::uint64_t flow_of(std::span<const std::byte> frame);

// Returns the address that an ARP request (RFC 826) asks for; nothing for any other frame.
std::optional<Ipv4> asked_for(std::span<const std::byte> frame);
std::vector<std::byte> arp_answer(std::span<const std::byte> question, const Mac& owner);

}  // namespace crosscut::user_switch
