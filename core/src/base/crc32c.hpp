// CRC-32C, the checksum of iSCSI (RFC 3720, section 12.1) and of Zarr's codec `crc32c`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crosscut {

std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace crosscut
