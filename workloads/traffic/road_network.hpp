// Roads of the queue model: links between junctions, with a speed, a capacity and room for vehicles.
//
// All quantities are whole numbers, so that every machine computes the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace crosscut::traffic {

using Index = std::uint32_t;
inline constexpr Index none = std::numeric_limits<Index>::max();

inline constexpr int seconds_per_hour = 3600;

struct Junction {
  int x_metres = 0;
  int y_metres = 0;
};

// One direction of a road.
struct Link {
  Index from = 0;
  Index to = 0;
  int length_metres = 0;
  int lanes = 1;
  int speed_km_per_hour = 50;
  int vehicles_per_hour = 0;  // flow capacity of all lanes

  // Returns the steps, of a second each, from end to end without traffic.
  int free_flow_steps() const {
    // length / (speed / 3.6), rounded up.
    return std::max(1, (length_metres * 36 + speed_km_per_hour * 10 - 1) / (speed_km_per_hour * 10));
  }
  // Returns how many vehicles fit: length times lanes, over the 7.5 m of a vehicle in a jam (Cetin, Burri and
  // Nagel 2002, "Original queue model").
  int storage() const { return std::max(1, length_metres * lanes * 10 / 75); }
  // Returns how many vehicles may wait to cross the junction: as many as can leave in a step, rounded up.
  int buffer() const { return (vehicles_per_hour + seconds_per_hour - 1) / seconds_per_hour; }
};

// Links grouped by one of their ends. Those of junction j are `indices[begin[j]]` to
// `indices[begin[j + 1] - 1]`, in order of their numbers.
class Incidence {
 public:
  Incidence(std::size_t junctions, std::span<const Link> links, Index Link::*end)
      : begin_(junctions + 1), indices_(links.size()) {
    for (const Link& link : links) ++begin_[static_cast<std::size_t>(link.*end) + 1];
    for (std::size_t i = 0; i < junctions; ++i) begin_[i + 1] += begin_[i];
    std::vector<Index> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t i = 0; i < links.size(); ++i) indices_[next[links[i].*end]++] = static_cast<Index>(i);
  }

  std::span<const Index> of(Index junction) const {
    return std::span(indices_).subspan(begin_[junction], begin_[junction + 1] - begin_[junction]);
  }

 private:
  std::vector<Index> begin_, indices_;
};

struct RoadNetwork {
  RoadNetwork(std::vector<Junction> all_junctions, std::vector<Link> all_links)
      : junctions(std::move(all_junctions)),
        links(std::move(all_links)),
        into(junctions.size(), links, &Link::to),
        out_of(junctions.size(), links, &Link::from) {}

  std::vector<Junction> junctions;
  std::vector<Link> links;
  Incidence into, out_of;
};

}  // namespace crosscut::traffic
