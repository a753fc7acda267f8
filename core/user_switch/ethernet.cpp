#include "user_switch/ethernet.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/words.hpp"

namespace crosscut::user_switch {
namespace {

constexpr std::uint16_t type_ipv4 = 0x0800, type_arp = 0x0806, type_ipv6 = 0x86dd;
constexpr std::uint8_t protocol_tcp = 6, protocol_udp = 17;

std::uint8_t byte_at(std::span<const std::byte> frame, std::size_t at) {
  return std::to_integer<std::uint8_t>(frame[at]);
}

std::uint16_t word_at(std::span<const std::byte> frame, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(frame, at) << 8 | byte_at(frame, at + 1));
}

std::uint64_t mix(std::uint64_t sum, std::span<const std::byte> bytes) {
  for (const auto byte : bytes)
    sum = (sum ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3u;  // FNV-1a
  return sum;
}

// Ports are the first four bytes of both TCP and UDP.
std::uint64_t mix_ports(std::uint64_t sum, std::span<const std::byte> frame, std::uint8_t protocol,
                        std::size_t at) {
  constexpr std::size_t ports_bytes = 4;
  const bool has_ports = protocol == protocol_tcp || protocol == protocol_udp;
  if (has_ports && frame.size() >= at + ports_bytes) sum = mix(sum, frame.subspan(at, ports_bytes));
  return sum;
}

}  // namespace

Mac default_mac(std::int32_t host, int adapter) {
  const auto number = static_cast<std::uint32_t>(host);
  return {0x02,
          0xcc,
          static_cast<std::uint8_t>(adapter),
          static_cast<std::uint8_t>(number >> 16),
          static_cast<std::uint8_t>(number >> 8),
          static_cast<std::uint8_t>(number)};
}

Mac parse_mac(std::string_view text) {
  Mac mac{};
  const std::string copy(text);
  char excess = 0;
  const bool has_form =
      text.size() == 17 && std::ranges::all_of(text, [](char c) {
        return c == ':' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      });
  if (!has_form || std::sscanf(copy.c_str(), "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", &mac[0], &mac[1],
                               &mac[2], &mac[3], &mac[4], &mac[5], &excess) != 6)
    throw UsageError(shown(text) + " is no hardware address; write one like 02:cc:00:00:00:01");
  if (mac[0] % 2 == 1)
    throw UsageError(shown(text) + " is an address of a group (its first byte is odd), not of an adapter");
  return mac;
}

Ipv4 parse_ipv4(std::string_view text) {
  std::array<unsigned, 4> parts{};
  const std::string copy(text.substr(0, 32));
  char excess = 0;
  const bool has_form = !text.empty() && text.size() <= 15 &&
                        std::ranges::all_of(text, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  if (!has_form ||
      std::sscanf(copy.c_str(), "%3u.%3u.%3u.%3u%c", &parts[0], &parts[1], &parts[2], &parts[3], &excess) !=
          4 ||
      std::ranges::max(parts) > 255)
    throw UsageError(shown(text) + " is no IPv4 address; write one like 10.0.0.1");
  Ipv4 address{};
  std::ranges::transform(parts, address.begin(),
                         [](unsigned part) { return static_cast<std::uint8_t>(part); });
  return address;
}

std::string to_text(const Mac& mac) {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                mac[4], mac[5]);
  return text.data();
}

std::optional<Addressed> read_addresses(std::span<const std::byte> frame) {
  if (frame.size() < header_bytes) return std::nullopt;
  Addressed addressed;
  std::memcpy(addressed.to.data(), frame.data(), addressed.to.size());
  addressed.is_group = addressed.to[0] % 2 == 1;
  return addressed;
}

std::uint64_t flow_of(std::span<const std::byte> frame) {
  constexpr std::size_t ipv4_shortest = 20, ipv6_header = 40;
  std::uint64_t sum = 0xcbf29ce484222325u;
  if (frame.size() < header_bytes) return sum;
  const auto type = word_at(frame, 12);
  const auto packet = frame.subspan(header_bytes);
  if (type == type_ipv4 && packet.size() >= ipv4_shortest) {
    const std::size_t header = std::size_t{4} * (byte_at(packet, 0) & 0x0fu);
    const bool is_fragment = (word_at(packet, 6) & 0x3fffu) != 0;
    sum = mix(mix(sum, packet.subspan(12, 8)), packet.subspan(9, 1));
    if (!is_fragment && header >= ipv4_shortest) sum = mix_ports(sum, packet, byte_at(packet, 9), header);
  } else if (type == type_ipv6 && packet.size() >= ipv6_header) {
    sum = mix(mix(sum, packet.subspan(8, 32)), packet.subspan(6, 1));
    sum = mix_ports(sum, packet, byte_at(packet, 6), ipv6_header);
  } else {
    sum = mix(sum, frame.first(header_bytes));
  }
  return Random(sum).next();  // so that a few of its bits do as well as all
}

std::optional<Ipv4> asked_for(std::span<const std::byte> frame) {
  constexpr std::size_t arp_bytes = 28;
  // Ethernet, IPv4, their lengths, request
  constexpr std::array<std::uint8_t, 8> question{0, 1, 8, 0, 6, 4, 0, 1};
  if (frame.size() < header_bytes + arp_bytes || word_at(frame, 12) != type_arp) return std::nullopt;
  if (std::memcmp(frame.data() + header_bytes, question.data(), question.size()) != 0) return std::nullopt;
  Ipv4 asked{};
  std::memcpy(asked.data(), frame.data() + header_bytes + 24, asked.size());
  return asked;
}

std::vector<std::byte> arp_answer(std::span<const std::byte> question, const Mac& owner) {
  constexpr std::size_t arp_bytes = 28, of_sender = 8, sender_ip = 14, of_target = 18, target_ip = 24;
  std::vector<std::byte> answer(question.begin(), question.begin() + header_bytes + arp_bytes);
  std::byte* const arp = answer.data() + header_bytes;
  const std::byte* const asked = question.data() + header_bytes;
  std::memcpy(answer.data(), asked + of_sender, owner.size());
  std::memcpy(answer.data() + owner.size(), owner.data(), owner.size());
  arp[7] = std::byte{2};  // reply
  std::memcpy(arp + of_sender, owner.data(), owner.size());
  std::memcpy(arp + sender_ip, asked + target_ip, sizeof(Ipv4));
  std::memcpy(arp + of_target, asked + of_sender, owner.size());
  std::memcpy(arp + target_ip, asked + sender_ip, sizeof(Ipv4));
  return answer;
}

}  // namespace crosscut::user_switch
