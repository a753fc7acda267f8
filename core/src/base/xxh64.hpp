// XXH64 (specification of xxHash, revision 0.1.1, "XXH64 algorithm description"): a 64-bit checksum at memory
// speed. It detects accidents, not attacks; the handshake keeps attackers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crosscut {

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace crosscut
