// Words in which ranks offer memory and tell of moved messages.
#include "backends/rma/words.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::backends::rma;

TEST(an_offer_is_read_as_it_was_written) {
  const Place furthest{15, Place::most_bytes - 1};
  for (const auto place : {Place{}, Place{3, 4097}, furthest}) {
    const auto word = word_of({.number = 12, .moved = 5, .place = place});
    CHECK(is_offer(word, 12));
    CHECK_EQ(place_in(word).window, place.window);
    CHECK_EQ(place_in(word).displacement, place.displacement);
    CHECK_EQ(moved_in(word, 5), std::uint64_t{5});
  }
}

TEST(an_offer_is_never_taken_for_the_next_in_its_slot) {
  CHECK(!is_offer(0, 0));  // memory as it is at first
  for (std::uint64_t number = 0; number < 10'000; ++number) {
    const auto next = number + Offer::most_open;
    CHECK_EQ(slot_of(number), slot_of(next));
    CHECK(!is_offer(word_of({.number = number, .moved = 0, .place = {}}), next));
  }
}

TEST(offers_open_at_the_same_time_have_slots_of_their_own) {
  for (std::uint64_t i = 1; i < Offer::most_open; ++i) CHECK(slot_of(100) != slot_of(100 + i));
}

TEST(the_count_of_moved_messages_goes_on_beyond_its_bits_and_never_back) {
  std::uint64_t known = 0;
  for (std::uint64_t moved = 0; moved < 20'000; moved += 7) {
    const auto word = word_of({.number = 0, .moved = moved, .place = {}});
    known = moved_in(word, known);
    CHECK_EQ(known, moved);
    CHECK_EQ(moved_in(word, moved + 5), moved + 5);  // later words told more
  }
}
