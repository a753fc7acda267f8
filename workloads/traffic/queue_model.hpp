// The queue model on one rank's region (Gawron, Int. J. of Modern Physics C 9 (1998) 393; Simon and Nagel,
// the same 10 (1999) 941; with the fair junctions and the parallel update of Cetin, Burri and Nagel 2002).
//
// A step is a second and has two parts. On each link, vehicles that have driven it from end to end go to a
// buffer at its end, as many as its capacity allows. At each junction, vehicles go from the buffers of its
// links to links that have room. Room that a leaving vehicle makes can be used from the next step on, so that
// a step depends on nothing but the state before it: it may be computed in any order, and in parts.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "traffic/region.hpp"
#include "traffic/routes.hpp"
#include "traffic/scenario.hpp"

namespace crosscut::traffic {

struct Vehicle {
  Index agent = 0;
  int departure_step = 0;
  int ready_step = 0;  // when it has driven its link from end to end
  Index behind = none;
  std::vector<Index> plan;   // links
  std::size_t followed = 0;  // of them, up to and with the one that it is on

  std::span<const Index> ahead() const { return std::span(plan).subspan(followed); }
};

// In queues that are lists through one array.
class Vehicles {
 public:
  Vehicle& operator[](Index place) { return all_[place]; }
  const Vehicle& operator[](Index place) const { return all_[place]; }

  Index add(Vehicle vehicle) {
    if (free_.empty()) {
      all_.push_back(std::move(vehicle));
      return static_cast<Index>(all_.size() - 1);
    }
    const Index place = free_.back();
    free_.pop_back();
    all_[place] = std::move(vehicle);
    return place;
  }

  Vehicle remove(Index place) {
    free_.push_back(place);
    return std::move(all_[place]);
  }

 private:
  std::vector<Vehicle> all_;
  std::vector<Index> free_;
};

struct Tally {
  std::int64_t parked = 0;  // not departed, or without room on their first link
  std::int64_t driving = 0;
  std::int64_t arrived = 0;
  std::int64_t moves = 0;         // vehicles that left a link or a parking space
  std::int64_t travel_steps = 0;  // of those that arrived, from the planned departure on
};

class QueueModel {
 public:
  // `trips`: those that begin in the region, sorted by junction of origin, departure and agent.
  QueueModel(const RoadNetwork& roads, const Routes& routes, const Region& region, std::vector<Trip> trips,
             std::uint64_t seed);

  // Both parts of a step. Afterwards each neighbour is owed a message, and owes one.
  void advance(int step);

  // What a neighbour is to know of this step: how many vehicles left each link that comes from it, and the
  // vehicles that drove onto links that lead to it.
  void write(std::size_t neighbour, std::vector<std::int32_t>& message);
  // The neighbour's. Throws where it makes no sense.
  void read(std::size_t neighbour, std::span<const std::int32_t> message, int step);
  // Numbers that a message from the neighbour has at most.
  std::size_t most_received(std::size_t neighbour) const;

  Tally tally() const;
  // Digest of when each agent arrived, and of where on the road or at which junction the others are: the
  // exclusive or over all ranks does not depend on how many there are.
  std::uint64_t checksum() const;

  // Agents on one of the rank's own links, the next to leave first.
  std::vector<Index> agents_on(Index link) const;

 private:
  // One of the rank's own links.
  struct Queue {
    Index first = none, first_not_in_buffer = none, last = none;
    std::int32_t vehicles = 0, in_buffer = 0;
    std::int32_t left = 0;            // in this step
    std::int32_t ready_step = never;  // of the first that is not in the buffer
  };
  // What does not change.
  struct Limits {
    std::int32_t free_flow_steps = 0, storage = 0, buffer = 0;
    std::int32_t vehicles_per_hour = 0;
  };
  struct Parking {
    std::uint32_t next = 0, end = 0;  // of the trips
  };
  static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

  void fill_buffer(Index link, int step);
  void serve_junction(std::size_t at, int step);
  void serve_link(Index link, int step);
  void serve_parking(std::size_t at, int step);
  bool has_room(Index link) const { return room_[link] > 0; }
  void arrive(const Vehicle& vehicle, int step);
  void enter(Index link, Index vehicle, int step);
  void append(Index link, Index vehicle, int step);
  Index take_first(Index link);

  const RoadNetwork& roads_;
  const Routes& routes_;
  const Region& region_;
  std::vector<Trip> trips_;
  Random random_;
  Vehicles vehicles_;
  std::vector<Queue> queues_;
  std::vector<Limits> limits_;
  std::vector<std::int32_t> room_;      // by link out of a junction of the region: vehicles that it can take
  std::vector<Parking> parking_;        // by junction
  std::vector<std::int32_t> buffered_;  // by junction: vehicles in buffers of its links
  std::vector<Index> junction_of_;      // by link: where its end is among the region's junctions
  std::vector<Index> left_;             // links with vehicles that left in this step
  std::vector<std::vector<std::int32_t>> departed_;  // by neighbour: vehicles on their way to it, encoded
  std::vector<std::pair<Index, Index>> way_out_;     // by link beyond the own: neighbour, place in its list
  struct Candidate {
    Index link;  // `none`: those who are parked
    std::int32_t weight;
  };
  std::vector<Candidate> candidates_;
  std::int64_t arrived_ = 0, moves_ = 0, travel_steps_ = 0;
  std::uint64_t arrivals_checksum_ = 0;
};

}  // namespace crosscut::traffic
