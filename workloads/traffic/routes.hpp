// The fastest ways on empty roads, from everywhere to each zone: what agents plan by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traffic/road_network.hpp"
#include "traffic/vehicles.hpp"

namespace crosscut::traffic {

class Routes {
 public:
  Routes(const RoadNetwork& roads, std::span<const Index> zones);

  // The link to take from a junction to get to the zone; `none` where that is.
  // Between ways that take as long it is the link of the lower number. Throws where there is no way.
  Index next_link(Index junction, Index zone) const;

  // Links from `origin` to the zone, appended; none where it is there. Between ways that take as long, that
  // by the link of the lower number. Throws where there is no way.
  void append_plan(Index origin, Index zone, std::vector<Index>& plan) const;

  // Links of the longest plan.
  int longest() const { return longest_; }

 private:
  void find(std::size_t zone, Index destination);

  const RoadNetwork& roads_;
  // By zone and junction: which of the junction's outgoing links comes next.
  std::vector<std::uint8_t> next_;
  int longest_link_steps_ = 1;
  int longest_ = 0;
};

}  // namespace crosscut::traffic
