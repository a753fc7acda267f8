// Random partners, round after round, in O(ranks) memory: the ranks are relabelled at random once, and each
// round is a randomly drawn round of a tournament among the labels.
#pragma once

#include <vector>

#include "base/random.hpp"
#include "patterns/pairing.hpp"

namespace crosscut::patterns {

class Matching {
 public:
  enum class Kind { random, within, across, given };

  // `groups` is ignored for `random`; for `given` it holds the pairs, as groups of two.
  Matching(Kind kind, const std::vector<std::vector<Rank>>& groups, Rank ranks, std::uint64_t seed)
      : kind_(kind), seed_(seed), seats_(static_cast<std::size_t>(ranks)) {
    groups_ = kind == Kind::random ? std::vector<std::vector<Rank>>{all_but(nobody, ranks)} : groups;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      random_stream(seed, g).shuffle(groups_[g]);
      for (std::size_t i = 0; i < groups_[g].size(); ++i)
        seats_[static_cast<std::size_t>(groups_[g][i])] = {static_cast<Rank>(g), static_cast<Rank>(i)};
    }
  }

  // Returns the rank's partner in a round, or `nobody` if it is in no group or left over.
  Rank partner(Rank rank, std::int64_t round) const {
    const Seat seat = seats_[static_cast<std::size_t>(rank)];
    if (seat.group == nobody) return nobody;
    if (kind_ == Kind::across) return across(seat, round);
    const std::vector<Rank>& group = groups_[static_cast<std::size_t>(seat.group)];
    const auto size = static_cast<Rank>(group.size());
    if (size < 2) return nobody;
    const Rank seated =
        tournament_partner(seat.index, draw(round, seat.group, tournament_rounds(size)), size);
    return seated == nobody ? nobody : group[static_cast<std::size_t>(seated)];
  }

 private:
  struct Seat {
    Rank group = nobody, index = 0;
  };

  std::int64_t draw(std::int64_t round, Rank salt, std::int64_t bound) const {
    Random random =
        random_stream(seed_, static_cast<std::uint64_t>(round) + 1, static_cast<std::uint64_t>(salt) + 1);
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  }
  // Groups meet in a tournament, and the members of two groups that meet pair off at a random shift. Members
  // of the larger group without a partner sit out.
  Rank across(Seat seat, std::int64_t round) const {
    const auto count = static_cast<Rank>(groups_.size());
    const Rank other = tournament_partner(seat.group, draw(round, -1, tournament_rounds(count)), count);
    if (other == nobody) return nobody;
    const auto size = [&](Rank group) { return std::ssize(groups_[static_cast<std::size_t>(group)]); };
    const std::int64_t circle = std::max(size(seat.group), size(other));
    const std::int64_t shift = draw(round, std::min(seat.group, other), circle);
    const std::int64_t turned = seat.group < other ? seat.index + shift : seat.index - shift;
    const Rank seated = wrapped(turned, circle);
    return seated < size(other) ? groups_[static_cast<std::size_t>(other)][static_cast<std::size_t>(seated)]
                                : nobody;
  }

  Kind kind_;
  std::uint64_t seed_;
  std::vector<Seat> seats_;  // [rank]
  std::vector<std::vector<Rank>> groups_;
};

}  // namespace crosscut::patterns
