#include "traffic/region.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>

namespace crosscut::traffic {

namespace {

class Bisection {
 public:
  Bisection(const RoadNetwork& roads, std::vector<int>& owners) : roads_(roads), owners_(owners) {}

  void share(std::span<Index> junctions, int first_rank, int ranks) {
    if (ranks == 1) {
      for (const Index junction : junctions) owners_[junction] = first_rank;
      return;
    }
    const int half = ranks / 2;
    const auto size = static_cast<std::int64_t>(junctions.size());
    const auto cut = static_cast<std::size_t>(size * half / ranks);
    const bool along_x = extent(junctions, &Junction::x_metres) >= extent(junctions, &Junction::y_metres);
    std::nth_element(junctions.begin(), junctions.begin() + static_cast<std::ptrdiff_t>(cut), junctions.end(),
                     [&](Index a, Index b) { return place(a, along_x) < place(b, along_x); });
    share(junctions.first(cut), first_rank, half);
    share(junctions.subspan(cut), first_rank + half, ranks - half);
  }

 private:
  const Junction& at(Index junction) const { return roads_.junctions[junction]; }

  int extent(std::span<const Index> junctions, int Junction::*coordinate) const {
    if (junctions.empty()) return 0;
    const auto [least, most] =
        std::ranges::minmax(junctions, {}, [&](Index one) { return at(one).*coordinate; });
    return at(most).*coordinate - at(least).*coordinate;
  }

  // No two junctions are at the same: the cut is one and the same on all ranks.
  std::tuple<int, int, Index> place(Index junction, bool along_x) const {
    const Junction& one = at(junction);
    if (along_x) return {one.x_metres, one.y_metres, junction};
    return {one.y_metres, one.x_metres, junction};
  }

  const RoadNetwork& roads_;
  std::vector<int>& owners_;
};

}  // namespace

std::vector<int> bisect(const RoadNetwork& roads, int ranks) {
  std::vector<int> owners(roads.junctions.size());
  std::vector<Index> junctions(roads.junctions.size());
  std::iota(junctions.begin(), junctions.end(), 0);
  Bisection(roads, owners).share(junctions, 0, ranks);
  return owners;
}

Region::Region(const RoadNetwork& roads, std::span<const int> owners, int rank)
    : places_(roads.links.size(), none), junction_places_(roads.junctions.size(), none) {
  for (Index junction = 0; junction < owners.size(); ++junction) {
    if (owners[junction] != rank) continue;
    junction_places_[junction] = static_cast<Index>(junctions_.size());
    junctions_.push_back(junction);
    begin_.push_back(static_cast<Index>(numbers_.size()));
    for (const Index number : roads.into.of(junction)) add_link(number);
  }
  begin_.push_back(static_cast<Index>(numbers_.size()));
  for (Index number = 0; number < roads.links.size(); ++number) {
    const int from = owners[roads.links[number].from], to = owners[roads.links[number].to];
    if (from == to) continue;
    if (to == rank) neighbour(from).inbound.push_back(place(number));
    if (from == rank) neighbour(to).outbound.push_back(add_link(number));
  }
}

Index Region::add_link(Index number) {
  places_[number] = static_cast<Index>(numbers_.size());
  numbers_.push_back(number);
  return places_[number];
}

Neighbour& Region::neighbour(int rank) {
  auto found = std::ranges::lower_bound(neighbours_, rank, {}, &Neighbour::rank);
  if (found == neighbours_.end() || found->rank != rank)
    found = neighbours_.insert(found, Neighbour{.rank = rank, .inbound = {}, .outbound = {}});
  return *found;
}

}  // namespace crosscut::traffic
