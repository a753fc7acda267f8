// XXH64 (xxHash's specification, revision 0.1.1, "XXH64 algorithm description"): a checksum of 64 bits at the
// speed of memory. Against accidents; not against people, who are kept out by the handshake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crosscut {

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace crosscut
