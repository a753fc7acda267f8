#include "traffic/road_network.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace crosscut::traffic {

int Link::free_flow_steps() const {
  // length / (speed / 3.6), rounded up.
  const int tenths = length_metres * 36;
  return std::max(1, (tenths + speed_km_per_hour * 10 - 1) / (speed_km_per_hour * 10));
}

int Link::storage() const { return std::max(1, length_metres * lanes * 10 / 75); }

int Link::buffer() const { return (vehicles_per_hour + seconds_per_hour - 1) / seconds_per_hour; }

Incidence::Incidence(std::size_t junctions, std::span<const Link> links, Index Link::*end)
    : begin_(junctions + 1), indices_(links.size()) {
  for (const Link& link : links) ++begin_[static_cast<std::size_t>(link.*end) + 1];
  for (std::size_t i = 0; i < junctions; ++i) begin_[i + 1] += begin_[i];
  std::vector<Index> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < links.size(); ++i)
    indices_[static_cast<std::size_t>(next[static_cast<std::size_t>(links[i].*end)]++)] =
        static_cast<Index>(i);
}

std::span<const Index> Incidence::of(Index junction) const {
  const auto at = junction;
  return std::span(indices_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
}

RoadNetwork::RoadNetwork(std::vector<Junction> all_junctions, std::vector<Link> all_links)
    : junctions(std::move(all_junctions)),
      links(std::move(all_links)),
      into(junctions.size(), links, &Link::to),
      out_of(junctions.size(), links, &Link::from) {}

}  // namespace crosscut::traffic
