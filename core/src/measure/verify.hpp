// Verifiable payload: every byte is a function of the seed, its source, the phase, repetition and message
// size, and its offset in the source's send buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/random.hpp"

namespace crosscut::measure {

inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;

inline std::uint8_t payload_byte(std::uint64_t key, std::int64_t at) {
  const auto place = static_cast<std::uint64_t>(at);
  return static_cast<std::uint8_t>(mix_bits(key + (place / 8 + 1) * golden) >> (place % 8 * 8));
}

// Returns the key that generates the bytes of one rank's messages in one phase and repetition.
inline std::uint64_t payload_key(std::uint64_t seed, std::int32_t source, std::int64_t phase,
                                 std::int64_t repetition, std::int64_t message_bytes) {
  std::uint64_t key = mix_bits(seed + golden);
  key = mix_bits(key ^ static_cast<std::uint64_t>(source)) + golden;
  key = mix_bits(key ^ static_cast<std::uint64_t>(phase)) + golden;
  key = mix_bits(key ^ static_cast<std::uint64_t>(repetition)) + golden;
  return mix_bits(key ^ static_cast<std::uint64_t>(message_bytes));
}

// Fills `data` with payload. `offset` is the offset of data[0] in the source's send buffer, in bytes.
inline void fill_payload(std::span<std::byte> data, std::uint64_t key, std::int64_t offset) {
  for (std::size_t i = 0; i < data.size();) {
    const auto at = offset + static_cast<std::int64_t>(i);
    if (at % 8 == 0 && i + 8 <= data.size()) {
      const auto word = mix_bits(key + (static_cast<std::uint64_t>(at) / 8 + 1) * golden);
      for (std::size_t k = 0; k < 8; ++k) data[i + k] = static_cast<std::byte>(word >> (8 * k));
      i += 8;
    } else {
      data[i++] = static_cast<std::byte>(payload_byte(key, at));
    }
  }
}

struct Mismatch {
  std::int64_t offset;
  std::uint8_t expected, found;
};
// Returns the first wrong byte, if any, with its offset in the source's send buffer.
inline std::optional<Mismatch> check_payload(std::span<const std::byte> data, std::uint64_t key,
                                             std::int64_t offset) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto at = offset + static_cast<std::int64_t>(i);
    const auto expected = payload_byte(key, at);
    const auto found = static_cast<std::uint8_t>(data[i]);
    if (found != expected) return Mismatch{at, expected, found};
  }
  return std::nullopt;
}

}  // namespace crosscut::measure
