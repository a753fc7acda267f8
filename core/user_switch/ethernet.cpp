#include "user_switch/ethernet.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/words.hpp"

namespace crosscut::user_switch {
namespace {

constexpr std::uint16_t type_arp = 0x0806;
constexpr std::uint8_t protocol_udp = 17;

std::uint64_t mix(std::uint64_t sum, std::span<const std::byte> bytes) {
  for (const auto byte : bytes)
    sum = (sum ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3u;  // FNV-1a
  return sum;
}

// TCP and UDP both begin with four bytes of ports.
std::uint64_t mix_ports(std::uint64_t sum, std::span<const std::byte> frame, unsigned protocol,
                        std::size_t at) {
  constexpr std::size_t ports_bytes = 4;
  const bool has_ports = protocol == protocol_tcp || protocol == protocol_udp;
  if (has_ports && frame.size() >= at + ports_bytes) sum = mix(sum, frame.subspan(at, ports_bytes));
  return sum;
}

// Reads `count` numbers of one byte each, of at most `digits_most` digits.
template <std::size_t count>
std::optional<std::array<std::uint8_t, count>> numbers_of(std::string_view text, char separator, int base,
                                                          std::size_t digits_most) {
  const auto parts = split(text, separator);
  if (parts.size() != count) return std::nullopt;
  std::array<std::uint8_t, count> numbers{};
  for (std::size_t i = 0; i < count; ++i) {
    const auto *const begin = parts[i].data(), *const end = begin + parts[i].size();
    const auto [read_to, error] = std::from_chars(begin, end, numbers[i], base);
    if (error != std::errc{} || read_to != end || parts[i].size() > digits_most) return std::nullopt;
  }
  return numbers;
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
  const auto mac = text.size() == 17 ? numbers_of<6>(text, ':', 16, 2) : std::nullopt;
  if (!mac) throw UsageError(shown(text) + " is not a hardware address; write one like 02:cc:00:00:00:01");
  if (is_group(*mac))
    throw UsageError(shown(text) + " is an address of a group (its first byte is odd), not of an adapter");
  return *mac;
}

Ipv4 parse_ipv4(std::string_view text) {
  const auto address = numbers_of<4>(text, '.', 10, 3);
  if (!address) throw UsageError(shown(text) + " is not an IPv4 address; write one like 10.0.0.1");
  return *address;
}

std::string to_text(const Mac& mac) {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                mac[4], mac[5]);
  return text.data();
}

std::optional<Mac> receiver_of(std::span<const std::byte> frame) {
  if (frame.size() < header_bytes) return std::nullopt;
  Mac to{};
  std::memcpy(to.data(), frame.data(), to.size());
  return to;
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
  return Random(sum).next();  // so that a few bits of it are as good as all
}

std::optional<Ipv4> asked_for(std::span<const std::byte> frame) {
  constexpr std::size_t arp_bytes = 28;
  // Hardware Ethernet, protocol IPv4, their address lengths, operation request.
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
