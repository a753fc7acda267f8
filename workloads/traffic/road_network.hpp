// Roads as the queue model sees them: links with a speed, a capacity and room, between junctions.
//
// Everything is a whole number, so that every machine computes the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace crosscut::traffic {

using Index = std::uint32_t;

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
  int vehicles_per_hour = 0;  // flow capacity, of all lanes

  // A step is a second.
  int free_flow_steps() const;
  // Vehicles that it has room for: length times lanes, by the 7.5 m of a vehicle in a jam (Cetin, Burri and
  // Nagel 2002, "Original queue model").
  int storage() const;
  // Vehicles that may wait at its end to cross the junction: those that can leave it in a step, rounded up.
  int buffer() const;
};

// Links by one of their ends: those of junction j are `indices[begin[j]]` to `indices[begin[j + 1] - 1]`, in
// order of their numbers.
class Incidence {
 public:
  Incidence() = default;
  Incidence(std::size_t junctions, std::span<const Link> links, Index Link::*end);
  std::span<const Index> of(Index junction) const;

 private:
  std::vector<Index> begin_, indices_;
};

struct RoadNetwork {
  RoadNetwork() = default;
  RoadNetwork(std::vector<Junction> junctions, std::vector<Link> links);

  std::vector<Junction> junctions;
  std::vector<Link> links;
  Incidence into, out_of;
};

}  // namespace crosscut::traffic
