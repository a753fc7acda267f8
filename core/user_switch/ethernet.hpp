// What the switch must know of a frame: whom it is for, which flow it belongs to; and answers to those who
// ask for a neighbour's address.
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

// Locally administered (IEEE 802, clause 8.4): 02:cc, the adapter, the host's number.
Mac default_mac(std::int32_t host, int adapter);
Mac parse_mac(std::string_view text);    // "02:cc:00:00:00:01"; throws UsageError
Ipv4 parse_ipv4(std::string_view text);  // "10.0.0.1"; throws UsageError
std::string to_text(const Mac& mac);

// Broadcast or multicast.
inline bool is_group(const Mac& mac) { return mac[0] % 2 == 1; }
// Whom a frame is for; nothing where there is no whole header.
std::optional<Mac> receiver_of(std::span<const std::byte> frame);
// The same for all frames of a connection in one direction: of addresses, protocol and ports (IPv4, IPv6;
// what is no first fragment has no ports).
std::uint64_t flow_of(std::span<const std::byte> frame);

// The question of who has an address (RFC 826). Nothing where the frame does not ask.
std::optional<Ipv4> asked_for(std::span<const std::byte> frame);
std::vector<std::byte> arp_answer(std::span<const std::byte> question, const Mac& owner);

}  // namespace crosscut::user_switch
