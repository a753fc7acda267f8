// A flipped bit is found, wherever it is.
#include <set>
#include <vector>

#include "measure/verify.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::measure;

namespace {

std::vector<std::byte> payload(std::size_t bytes, std::uint64_t key, std::int64_t offset = 0) {
  std::vector<std::byte> data(bytes);
  fill_payload(data, key, offset);
  return data;
}

}  // namespace

TEST(filled_memory_verifies) {
  for (const std::int64_t offset : {0, 1, 7, 8, 1000, 1 << 30})
    for (const std::size_t bytes : {0UL, 1UL, 7UL, 8UL, 9UL, 100UL})
      CHECK(!check_payload(payload(bytes, 42, offset), 42, offset));
}

TEST(every_flipped_bit_is_found_at_its_place) {
  constexpr std::int64_t offset = 5;
  const auto right = payload(67, 42, offset);
  for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
    auto data = right;
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto wrong = check_payload(data, 42, offset);
    REQUIRE(wrong.has_value());
    CHECK_EQ(wrong->offset, offset + static_cast<std::int64_t>(bit / 8));
    CHECK_EQ(wrong->expected, static_cast<std::uint8_t>(right[bit / 8]));
    CHECK_EQ(wrong->found, static_cast<std::uint8_t>(data[bit / 8]));
  }
}

TEST(the_first_of_several_wrong_bytes_is_named) {
  auto data = payload(100, 1);
  data[90] ^= std::byte{1};
  data[13] ^= std::byte{128};
  CHECK_EQ(check_payload(data, 1, 0)->offset, 13);
}

TEST(a_piece_equals_that_part_of_the_whole) {
  const auto whole = payload(100, 9);
  for (std::size_t from = 0; from < 100; from += 3) {
    const auto piece = payload(100 - from, 9, static_cast<std::int64_t>(from));
    CHECK(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(from)));
  }
}

TEST(payloads_shifted_by_a_byte_or_a_word_are_wrong) {
  const auto data = payload(64, 3, 0);
  CHECK(check_payload(data, 3, 1).has_value());
  CHECK(check_payload(data, 3, 8).has_value());
}

TEST(every_sender_message_and_time_has_its_own_key) {
  std::set<std::uint64_t> keys;
  int made = 0;
  for (const std::uint64_t seed : {0ULL, 1ULL, ~0ULL})
    for (std::int32_t source = 0; source < 9; ++source)
      for (std::int64_t phase = 0; phase < 9; ++phase)
        for (std::int64_t repetition = 0; repetition < 9; ++repetition)
          for (const std::int64_t bytes : {0, 1, 1000}) {
            keys.insert(payload_key(seed, source, phase, repetition, bytes));
            ++made;
          }
  CHECK_EQ(keys.size(), made);
}

TEST(another_rank_s_payload_is_not_accepted) {
  const auto data = payload(8, payload_key(1, 0, 0, 0, 8));
  CHECK(check_payload(data, payload_key(1, 1, 0, 0, 8), 0).has_value());
  CHECK(check_payload(data, payload_key(1, 0, 1, 0, 8), 0).has_value());
  CHECK(check_payload(data, payload_key(1, 0, 0, 1, 8), 0).has_value());
}
