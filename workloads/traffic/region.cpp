#include "traffic/region.hpp"

#include <algorithm>

namespace crosscut::traffic {

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
