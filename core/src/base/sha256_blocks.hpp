// The compression function of SHA-256 over whole blocks of 64 bytes: in portable C++, and with the
// processor's SHA instructions, which take a fifth of the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace crosscut {

using Sha256State = std::array<std::uint32_t, 8>;
inline constexpr std::size_t sha256_block_bytes = 64;

extern const std::array<std::uint32_t, 64> sha256_round_constants;

void sha256_blocks_portable(Sha256State& state, const std::uint8_t* blocks, std::size_t count);

bool has_sha256_instructions();
// Call only if has_sha256_instructions().
void sha256_blocks_by_instruction(Sha256State& state, const std::uint8_t* blocks, std::size_t count);

}  // namespace crosscut
