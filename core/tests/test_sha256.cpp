// The standards' own vectors: FIPS 180-4 (NIST's example values) and RFC 4231.
#include <algorithm>
#include <string>

#include "base/sha256.hpp"
#include "base/sha256_blocks.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace std::literals;

namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string repeated(int byte, std::size_t count) { return std::string(count, static_cast<char>(byte)); }

std::string sha256(std::string_view text) { return hex(Sha256().add(octets(text)).finish()); }

std::string hmac(std::string_view key, std::string_view text) {
  return hex(hmac_sha256(key, {octets(text)}));
}

}  // namespace

TEST(digests_are_those_of_fips_180_4) {
  CHECK_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK_EQ(
      sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
             "pqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK_EQ(sha256(repeated('a', 1'000'000)),
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(a_digest_does_not_depend_on_how_the_text_comes_in_pieces) {
  const std::string text = repeated('x', 300);
  for (std::size_t length = 0; length <= text.size(); ++length) {  // across every padding boundary
    const auto whole = std::string_view(text).substr(0, length);
    for (const std::size_t cut : {std::size_t{0}, length / 3, std::min<std::size_t>(length, 64), length}) {
      Sha256 hash;
      hash.add(octets(whole.substr(0, cut))).add({}).add(octets(whole.substr(cut)));
      CHECK_EQ(hex(hash.finish()), sha256(whole));
    }
  }
}

TEST(authentication_codes_are_those_of_rfc_4231) {
  CHECK_EQ(hmac(repeated(0x0b, 20), "Hi There"),
           "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK_EQ(hmac("Jefe", "what do ya want for nothing?"),
           "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK_EQ(hmac(repeated(0xaa, 20), repeated(0xdd, 50)),
           "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (int byte = 1; byte <= 25; ++byte) counting += static_cast<char>(byte);
  CHECK_EQ(hmac(counting, repeated(0xcd, 50)),
           "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  CHECK_EQ(hmac(repeated(0x0c, 20), "Test With Truncation").substr(0, 32),
           "a3b6167473100ee06e0c796c2955552b");
  CHECK_EQ(hmac(repeated(0xaa, 131), "Test Using Larger Than Block-Size Key - Hash Key First"),
           "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK_EQ(
      hmac(repeated(0xaa, 131),
           "This is a test using a larger than block-size key and a larger than block-size data. The key "
           "needs to be hashed before being used by the HMAC algorithm."),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(a_code_of_parts_is_the_code_of_their_whole) {
  CHECK_EQ(hex(hmac_sha256("key", {octets("ab"sv), octets(""sv), octets("c"sv)})), hmac("key", "abc"));
}

TEST(every_differing_bit_is_a_difference) {
  const Digest a = Sha256().add(octets("abc"sv)).finish();
  CHECK(equal_in_constant_time(a, a));
  for (std::size_t bit = 0; bit < 256; ++bit) {
    Digest b = a;
    b[bit / 8] = static_cast<std::uint8_t>(b[bit / 8] ^ (1U << (bit % 8)));
    CHECK(!equal_in_constant_time(a, b));
  }
  CHECK(!equal_in_constant_time(a, std::span(a).first(31)));
}

TEST(random_bytes_differ_from_time_to_time) {
  Digest a{}, b{};
  fill_random(a);
  fill_random(b);
  CHECK(a != b);
  CHECK(a != Digest{});
}

TEST(the_processor_s_instructions_agree_with_plain_code) {
  if (!has_sha256_instructions()) return;
  std::array<std::uint8_t, 5 * sha256_block_bytes> blocks{};
  Sha256State plain{1, 2, 3, 4, 5, 6, 7, 8}, quick = plain;
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      blocks[i] = static_cast<std::uint8_t>(plain[i % 8] >> (i % 25));
    sha256_blocks_portable(plain, blocks.data(), 5);
    sha256_blocks_by_instruction(quick, blocks.data(), 5);
    CHECK(plain == quick);
  }
}
