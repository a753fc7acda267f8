#include "npb/mg/levels.hpp"

#include <bit>
#include <cstddef>

namespace crosscut::npb::mg {

namespace {

// Points before place `place` of `places`.
int points_before(int points, int places, int place) {
  return static_cast<int>(static_cast<long long>(place) * points / places);
}

Triple factors(int ranks) {
  const int log2 = std::countr_zero(static_cast<unsigned>(ranks));
  const int first = log2 / 3;
  const int second = (log2 - first) / 2;
  return {1 << first, 1 << second, 1 << (log2 - first - second)};
}

}  // namespace

Levels::Levels(int count, int rank, int ranks)
    : ranks_(factors(ranks)),
      place_{rank % ranks_[0], rank / ranks_[0] % ranks_[1], rank / (ranks_[0] * ranks_[1])},
      levels_(static_cast<std::size_t>(count) + 1) {
  // From rank to rank that has points; doubles where a level becomes too coarse for all.
  Triple stride{1, 1, 1};
  for (int number = count; number >= 1; --number) share(number, stride);
}

Triple Levels::first_point() const {
  Triple first{};
  for (std::size_t d = 0; d < dimensions; ++d)
    first[d] = points_before(levels_.back().points[d], ranks_[d], place_[d]);
  return first;
}

int Levels::rank_at(Triple place) const { return place[0] + ranks_[0] * (place[1] + ranks_[1] * place[2]); }

void Levels::share(int number, Triple& stride) {
  Level& level = levels_[static_cast<std::size_t>(number)];
  for (std::size_t d = 0; d < dimensions; ++d) {
    const int points = 1 << number;
    const auto own = [&](int place) {
      return points_before(points, ranks_[d], place + 1) - points_before(points, ranks_[d], place);
    };
    const int here = own(place_[d]);
    const int next = own(place_[d] + stride[d]);
    level.points[d] = points;
    level.extent[d] = here + 2;
    level.idle = level.idle || here == 0;
    if (here == 0 || next == 0) stride[d] *= 2;
    if (number < finest()) {
      Level& finer = levels_[static_cast<std::size_t>(number) + 1];
      finer.gives[d] = next == 0 && here == 1;
      finer.is_given[d] = next == 1 && here == 0;
    }
    for (std::size_t side = 0; side < 2; ++side) {
      Triple place = place_;
      place[d] = (place[d] + (side == 0 ? -stride[d] : stride[d]) + ranks_[d]) % ranks_[d];
      level.neighbours[d][side] = rank_at(place);
    }
  }
}

}  // namespace crosscut::npb::mg
