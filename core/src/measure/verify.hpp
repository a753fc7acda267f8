// Verifiable payload: every byte is a function of its sender, its phase and its place in the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace crosscut::measure {

// Returns the key that generates the bytes of one rank's messages in one phase and repetition.
std::uint64_t payload_key(std::uint64_t seed, std::int32_t source, std::int64_t phase,
                          std::int64_t repetition, std::int64_t message_bytes);

// `offset` is the place of data[0] in the source's message, bytes.
void fill_payload(std::span<std::byte> data, std::uint64_t key, std::int64_t offset);

struct Mismatch {
  std::int64_t offset;
  std::uint8_t expected, found;
};
// Returns the first wrong byte, if any.
std::optional<Mismatch> check_payload(std::span<const std::byte> data, std::uint64_t key,
                                      std::int64_t offset);

}  // namespace crosscut::measure
