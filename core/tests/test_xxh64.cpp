// Values of xxHash's reference implementation (`xxhsum -H64`, and the seed of its own tests).
#include <string>
#include <string_view>

#include "base/xxh64.hpp"
#include "tests/check.hpp"

using namespace crosscut;

namespace {

std::uint64_t sum(std::string_view text, std::uint64_t seed = 0) {
  return xxh64(std::as_bytes(std::span(text)), seed);
}

}  // namespace

TEST(checksums_are_those_of_the_reference) {
  CHECK_EQ(sum(""), 0xef46db3751d8e999u);
  CHECK_EQ(sum("a"), 0xd24ec4f1a98c6e5bu);
  CHECK_EQ(sum("abc"), 0x44bc2cf5ad770999u);
  CHECK_EQ(sum("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST(every_length_of_tail_after_whole_stripes_counts) {
  const std::string text = "0123456789012345678901234567890123456789012345678901234567890123456789";
  CHECK_EQ(sum(text, 20141025), 0xa7ae9b86840dbedeu);
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK(sum(text.substr(0, length)) != sum(text.substr(0, length + 1)));
}

TEST(one_bit_changes_the_checksum_wherever_it_is) {
  std::string text(100, 'x');
  const std::uint64_t before = sum(text);
  for (char& letter : text) {
    letter ^= 4;
    CHECK(sum(text) != before);
    letter ^= 4;
  }
}
