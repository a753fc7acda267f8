// The wire format of the udp backend. A datagram is a header and a piece of a message. The authenticated TCP
// connection of each lane carries one Introduction, then counts of messages handed to the kernel (uint64).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "program/program.hpp"
#include "session/wire.hpp"

namespace crosscut::backends::udp {

// Little-endian (asserted in session/wire.hpp), no padding. The lane implies sender, channel and rail; the
// receiver announces the lane's number in its introduction.
struct DatagramHeader {
  std::uint64_t token = 0;    // of the receiving socket; see token_of()
  std::uint64_t message = 0;  // counts the lane's messages in this direction, from 0
  std::uint32_t lane = 0;
  std::uint32_t chunk = 0;  // index of the piece in the message, from 0
};
static_assert(sizeof(DatagramHeader) == 24);

// Value of `chunk` in a mark, a datagram without payload: all messages before `message` have been sent.
inline constexpr std::uint32_t mark_chunk = 0xffffffff;

// Largest payload of an IPv4 datagram: 65535 less the IP and UDP headers.
inline constexpr std::size_t most_datagram_bytes = 65507;
inline constexpr std::size_t most_chunk_bytes = most_datagram_bytes - sizeof(DatagramHeader);
// With less, the headers would outweigh the payload, and the index of a piece could exceed 32 bits.
inline constexpr std::size_t least_chunk_bytes = 64;

using Nonce = std::array<std::uint8_t, 16>;

struct Introduction {
  std::array<char, 8> magic{'x', 'c', 'u', 't', 'u', 'd', 'p', '1'};
  Nonce nonce{};                  // determines the token that this side expects
  std::uint32_t lane = 0;         // number that this side expects
  std::uint32_t chunk_bytes = 0;  // size of the pieces that this side sends
  std::uint16_t port = 0;
  std::array<std::uint8_t, 6> reserved{};
};
static_assert(sizeof(Introduction) == 40);

// Throws RunError that names the peer if its introduction is invalid.
inline void check_introduction(const Introduction& said, Rank peer) {
  if (said.magic != Introduction{}.magic || said.port == 0 || said.chunk_bytes < least_chunk_bytes ||
      said.chunk_bytes > most_chunk_bytes) {
    throw RunError(
        "rank " + std::to_string(peer) +
        " sent an invalid udp introduction; make sure that all nodes run the same version of crosscut");
  }
}

// Returns the first 64 bits of HMAC(secret, "udp" nonce). Only datagrams carry it, so reading the TCP
// connection does not reveal it.
inline std::uint64_t token_of(std::string_view secret, const Nonce& nonce) {
  constexpr std::string_view role = "udp";
  const auto digest =
      hmac_sha256(secret, {{reinterpret_cast<const std::uint8_t*>(role.data()), role.size()}, nonce});
  std::uint64_t token = 0;
  std::memcpy(&token, digest.data(), sizeof token);
  return token;
}

// Returns the number of pieces of a message; an empty message is one datagram.
inline std::uint64_t chunks_of(std::uint64_t bytes, std::uint64_t chunk_bytes) {
  return bytes == 0 ? 1 : (bytes + chunk_bytes - 1) / chunk_bytes;
}

}  // namespace crosscut::backends::udp
