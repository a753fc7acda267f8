// Which rank has which junctions, and a rank's part of the roads: its junctions, the links into them, and
// what it shares with ranks beside it.
#pragma once

#include <span>
#include <vector>

#include "traffic/road_network.hpp"
#include "traffic/vehicles.hpp"

namespace crosscut::traffic {

// The rank of each junction, by orthogonal recursive bisection: the region is cut across its longer side into
// parts that have as many junctions as they have ranks, in proportion, and each part so again. The links into
// a junction are its rank's, too.
std::vector<int> bisect(const RoadNetwork& roads, int ranks);

// Links between two ranks. Both list them in order of their numbers, so that a place in the list names a
// link.
struct Neighbour {
  int rank = 0;
  std::vector<Index> inbound;   // from there to here: places among the region's links
  std::vector<Index> outbound;  // from here to there: the same
};

// Links have a place in the region: first those into its junctions, one junction after the other, which are
// the rank's own; behind them those out of it, whose queues another rank has.
class Region {
 public:
  Region(const RoadNetwork& roads, std::span<const int> owners, int rank);

  std::size_t own_links() const { return begin_.back(); }
  std::size_t links() const { return numbers_.size(); }
  std::size_t junctions() const { return junctions_.size(); }

  Index junction(std::size_t at) const { return junctions_[at]; }
  // The first of the links into a junction; they end where those of the next begin.
  Index first_into(std::size_t at) const { return begin_[at]; }

  // Of a link in the region: its number in the network, and back (`none` elsewhere).
  Index number(Index place) const { return numbers_[place]; }
  Index place(Index number) const { return places_[number]; }
  // Of a junction: where it is among the region's; `none` elsewhere.
  Index junction_place(Index number) const { return junction_places_[number]; }

  std::span<const Neighbour> neighbours() const { return neighbours_; }

 private:
  Index add_link(Index number);
  Neighbour& neighbour(int rank);

  std::vector<Index> junctions_, begin_, numbers_, places_, junction_places_;
  std::vector<Neighbour> neighbours_;
};

}  // namespace crosscut::traffic
