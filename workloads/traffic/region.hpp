// Assignment of junctions to ranks, and a rank's part of the roads: its junctions, the links into them, and
// the links between it and neighbouring ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "traffic/road_network.hpp"

namespace crosscut::traffic {

// Distributes junctions among `ranks` ranks, beginning with `first_rank`.
inline void share(const RoadNetwork& roads, std::span<Index> junctions, int first_rank, int ranks,
                  std::vector<int>& owners) {
  if (ranks == 1) {
    for (const Index junction : junctions) owners[junction] = first_rank;
    return;
  }
  const auto extent = [&](int Junction::*coordinate) {
    const auto of = [&](Index junction) { return roads.junctions[junction].*coordinate; };
    if (junctions.empty()) return 0;
    const auto [least, most] = std::ranges::minmax(junctions, {}, of);
    return of(most) - of(least);
  };
  const bool along_x = extent(&Junction::x_metres) >= extent(&Junction::y_metres);
  // Breaks ties by the junction's number, so that all ranks make the same cut.
  const auto place = [&](Index junction) {
    const auto [x, y] = roads.junctions[junction];
    return along_x ? std::tuple(x, y, junction) : std::tuple(y, x, junction);
  };
  const int half = ranks / 2;
  const auto cut = static_cast<std::size_t>(static_cast<std::int64_t>(junctions.size()) * half / ranks);
  std::ranges::nth_element(junctions, junctions.begin() + static_cast<std::ptrdiff_t>(cut), {}, place);
  share(roads, junctions.first(cut), first_rank, half, owners);
  share(roads, junctions.subspan(cut), first_rank + half, ranks - half, owners);
}

// Returns the rank of each junction, by orthogonal recursive bisection: the region is cut across its longer
// side into parts with junctions in proportion to their ranks, and each part is cut again. The links into a
// junction belong to its rank.
inline std::vector<int> bisect(const RoadNetwork& roads, int ranks) {
  std::vector<int> owners(roads.junctions.size());
  std::vector<Index> junctions(roads.junctions.size());
  std::iota(junctions.begin(), junctions.end(), 0);
  share(roads, junctions, 0, ranks, owners);
  return owners;
}

// Links between two ranks. Both list them in order of their numbers, so an index in the list names a link.
struct Neighbour {
  int rank = 0;
  std::vector<Index> inbound;   // from there to here: indices of the region's links
  std::vector<Index> outbound;  // from here to there: likewise
};

// Links have an index in the region: first the links into its junctions, junction by junction, which are the
// rank's own; then the links out of it, whose queues belong to other ranks.
struct Region {
  Region(const RoadNetwork& roads, std::span<const int> owners, int rank)
      : places(roads.links.size(), none), junction_places(roads.junctions.size(), none) {
    for (Index junction = 0; junction < owners.size(); ++junction) {
      if (owners[junction] != rank) continue;
      junction_places[junction] = static_cast<Index>(junctions.size());
      junctions.push_back(junction);
      begin.push_back(static_cast<Index>(numbers.size()));
      for (const Index number : roads.into.of(junction)) add_link(number);
    }
    begin.push_back(static_cast<Index>(numbers.size()));
    for (Index number = 0; number < roads.links.size(); ++number) {
      const int from = owners[roads.links[number].from], to = owners[roads.links[number].to];
      if (from == to) continue;
      if (to == rank) neighbour(from).inbound.push_back(places[number]);
      if (from == rank) neighbour(to).outbound.push_back(add_link(number));
    }
  }

  std::size_t own_links() const { return begin.back(); }

  std::vector<Index> junctions;
  std::vector<Index> begin;            // by junction: its first link; one more entry: their end
  std::vector<Index> numbers;          // link numbers, by index
  std::vector<Index> places;           // link indices, by number; `none` elsewhere
  std::vector<Index> junction_places;  // junction indices, by number; `none` elsewhere
  std::vector<Neighbour> neighbours;

 private:
  Index add_link(Index number) {
    places[number] = static_cast<Index>(numbers.size());
    numbers.push_back(number);
    return places[number];
  }

  Neighbour& neighbour(int rank) {
    auto found = std::ranges::lower_bound(neighbours, rank, {}, &Neighbour::rank);
    if (found == neighbours.end() || found->rank != rank)
      found = neighbours.insert(found, Neighbour{.rank = rank, .inbound = {}, .outbound = {}});
    return *found;
  }
};

}  // namespace crosscut::traffic
