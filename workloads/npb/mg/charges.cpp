#include "npb/mg/charges.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "npb/common/random.hpp"

namespace crosscut::npb::mg {

namespace {

constexpr std::uint64_t seed = 314159265;
constexpr std::size_t charges = 10;  // of each sign

struct Candidate {
  double value;
  std::size_t i, j, k;
};

// The best `charges` of what was offered, the best first.
template <typename Better>
class Best {
 public:
  explicit Best(Better better) : better_(better) {}

  void offer(const Candidate& candidate) {
    if (found_.size() == charges && !better_(candidate.value, found_.back().value)) return;
    const auto at = std::ranges::upper_bound(found_, candidate.value, better_, &Candidate::value);
    found_.insert(at, candidate);
    if (found_.size() > charges) found_.pop_back();
  }

  const std::vector<Candidate>& found() const { return found_; }

 private:
  Better better_;
  std::vector<Candidate> found_;
};

template <typename Visit>
void for_each_random(const Levels& levels, const Grid& grid, Visit&& visit) {
  const Level& level = levels[levels.finest()];
  const Triple first = levels.first_point();
  const auto at = [&](std::size_t d, std::size_t local) {
    return static_cast<std::uint64_t>(first[d]) + local - 1;
  };
  for (std::size_t k = 1; k + 1 < grid.extent(2); ++k)
    for (std::size_t j = 1; j + 1 < grid.extent(1); ++j) {
      const auto row = at(2, k) * static_cast<std::uint64_t>(level.points[1]) + at(1, j);
      RandomStream random(seed, row * static_cast<std::uint64_t>(level.points[0]) + at(0, 1));
      for (std::size_t i = 1; i + 1 < grid.extent(0); ++i) visit(Candidate{random.next(), i, j, k});
    }
}

// Which of all ranks' candidates is next: NPB agrees on the value, then on who has it and where. Values are
// distinct, so that just one rank has it.
class Agreement {
 public:
  Agreement(Communicator& world, Grid& grid) : world_(world), grid_(grid) {}

  void settle(const std::vector<Candidate>& candidates, std::size_t& next, MPI_Op operation, double worst,
              double charge) {
    const bool any = next < candidates.size();
    const double own = any ? candidates[next].value : worst;
    const double agreed = world_.all_reduce_value(own, operation);
    std::array<std::int32_t, 4> where{};
    if (any && own == agreed) {
      const Candidate& one = candidates[next++];
      grid_.row(one.j, one.k)[one.i] = charge;
      where = {world_.rank(), static_cast<std::int32_t>(one.i), static_cast<std::int32_t>(one.j),
               static_cast<std::int32_t>(one.k)};
    }
    std::array<std::int32_t, 4> agreed_place{};
    world_.all_reduce(where, agreed_place, MPI_MAX);  // for its messages alone
  }

 private:
  Communicator& world_;
  Grid& grid_;
};

}  // namespace

void place_charges(Communicator& world, const Levels& levels, Grid& grid) {
  Best largest{std::ranges::greater{}};
  Best smallest{std::ranges::less{}};
  for_each_random(levels, grid, [&](const Candidate& candidate) {
    largest.offer(candidate);
    smallest.offer(candidate);
  });
  grid.clear();
  Agreement agreement(world, grid);
  std::size_t next_largest = 0, next_smallest = 0;
  for (std::size_t i = 0; i < charges; ++i) {
    agreement.settle(largest.found(), next_largest, MPI_MAX, 0.0, +1.0);
    agreement.settle(smallest.found(), next_smallest, MPI_MIN, 1.0, -1.0);
  }
}

}  // namespace crosscut::npb::mg
