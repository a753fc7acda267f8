#include "base/crc32c.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace crosscut {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // the lowest bit first
constexpr std::size_t at_once = 8;                // bytes

// tables[i][b]: what byte b contributes if i bytes follow it ("slicing by 8": Kounavis and Berry, "Novel
// Table Lookup-Based Algorithms for High-Performance CRC Generation", IEEE Trans. Computers 57(11), 2008).
using Tables = std::array<std::array<std::uint32_t, 256>, at_once>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t following = 1; following < at_once; ++following)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[following - 1][byte];
      tables[following][byte] = crc >> 8 ^ tables[0][crc & 255];
    }
  return tables;
}

constexpr Tables tables = make_tables();
static_assert(std::endian::native == std::endian::little);  // words are read as they are in memory

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (; bytes.size() >= at_once; bytes = bytes.subspan(at_once)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), at_once);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < at_once; ++i) crc ^= tables[at_once - 1 - i][word >> 8 * i & 255];
  }
  for (const std::byte byte : bytes)
    crc = crc >> 8 ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 255];
  return ~crc;
}

}  // namespace crosscut
