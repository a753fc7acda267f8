// Values of RFC 3720, appendix B.4, and of the polynomial itself.
#include <array>
#include <string>
#include <string_view>

#include "base/crc32c.hpp"
#include "tests/check.hpp"

using namespace crosscut;

namespace {

std::uint32_t sum(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

// One bit after another, as section 12.1 defines it.
std::uint32_t bit_by_bit(std::string_view text) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char letter : text) {
    crc ^= static_cast<unsigned char>(letter);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

}  // namespace

TEST(checksums_are_those_of_the_standard) {
  CHECK_EQ(sum(std::string(32, '\0')), 0x8a9136aau);
  CHECK_EQ(sum(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising, falling;
  for (char byte = 0; byte < 32; ++byte) {
    rising += byte;
    falling.insert(falling.begin(), byte);
  }
  CHECK_EQ(sum(rising), 0x46dd794eu);
  CHECK_EQ(sum(falling), 0x113fdb5cu);
  CHECK_EQ(sum("123456789"), 0xe3069283u);
}

TEST(words_and_single_bytes_give_what_single_bits_do) {
  std::string text;
  for (int length = 0; length < 70; ++length) {
    CHECK_EQ(sum(text), bit_by_bit(text));
    text += static_cast<char>(length * 37 + 11);
  }
}
