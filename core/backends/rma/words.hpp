// The words that two ranks write into each other's memory about their messages.
//
// One end of a message offers memory, the other moves the bytes. With put, the receiver offers room; with
// get, the sender offers its data. An offer is a word that says where. It also says how many messages the
// offering rank has moved so far on this line, so that an answer in the other direction needs no second word.
#pragma once

#include <cstdint>

namespace crosscut::backends::rma {

// A place in a rank's windows.
struct Place {
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
  std::uint8_t window = 0;
  std::uint64_t displacement = 0;  // bytes, below most_bytes
};

struct Offer {
  // Offers that a rank may have open towards a peer on a line. With the count of moved messages they fill a
  // cache line.
  static constexpr std::uint64_t most_open = 7;

  std::uint64_t number = 0;  // of the offer on its line, from 0
  std::uint64_t moved = 0;   // messages that the offering rank has moved on the line
  Place place;
};

// An offer's word: round of its slot (8 bits), moved messages (12 bits), window (4 bits), displacement (40
// bits). The round is never that of the offer before it in the slot, and 1 in the first, since memory starts
// as zeros. Fewer than 2^11 messages are open, so the receiver of the word completes the count.
constexpr std::uint64_t round_of(std::uint64_t number) { return (number / Offer::most_open + 1) & 0xff; }
constexpr std::uint64_t slot_of(std::uint64_t number) { return 1 + number % Offer::most_open; }

constexpr std::uint64_t word_of(const Offer& offer) {
  return round_of(offer.number) << 56 | (offer.moved & 0xfff) << 44 |
         std::uint64_t{offer.place.window} << 40 | offer.place.displacement;
}

constexpr bool is_offer(std::uint64_t word, std::uint64_t number) { return word >> 56 == round_of(number); }

constexpr Place place_in(std::uint64_t word) {
  return {static_cast<std::uint8_t>(word >> 40 & 0xf), word & (Place::most_bytes - 1)};
}

// Returns the number of messages moved according to a word, but never less than is already known.
constexpr std::uint64_t moved_in(std::uint64_t word, std::uint64_t known) {
  const auto ahead = ((word >> 44) - known) & 0xfff;
  return ahead < 0x800 ? known + ahead : known;
}

}  // namespace crosscut::backends::rma
