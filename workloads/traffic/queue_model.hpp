// The queue model on one rank's region (Gawron, Int. J. of Modern Physics C 9 (1998) 393; Simon and Nagel,
// the same 10 (1999) 941; with the fair junctions and the parallel update of Cetin, Burri and Nagel 2002).
//
// A step is a second and has two parts. On each link, vehicles that have driven it from end to end enter a
// buffer at its end, as many as its capacity allows. At each junction, vehicles go from the buffers of its
// links to links that have room. Room that a leaving vehicle makes can be used from the next step on. A step
// therefore depends only on the state before it, and can be computed in any order and in parts.
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
  int ready_step = 0;  // when it reaches the end of its link
  Index behind = none;
  std::vector<Index> plan;   // links
  std::size_t followed = 0;  // links of the plan so far, including the current one

  std::span<const Index> ahead() const { return std::span(plan).subspan(followed); }
};

// Storage of vehicles; queues are lists through one array.
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
  std::int64_t parked = 0;  // not departed, or no room on their first link
  std::int64_t driving = 0;
  std::int64_t arrived = 0;
  std::int64_t moves = 0;         // times that a vehicle left a link or a parking space
  std::int64_t travel_steps = 0;  // of arrived vehicles, from the planned departure on
};

class QueueModel {
 public:
  // `trips`: those that begin in the region, sorted by junction of origin, departure and agent.
  QueueModel(const RoadNetwork& roads, const Routes& routes, const Region& region, std::vector<Trip> trips,
             std::uint64_t seed);

  // Does both parts of a step. Afterwards a message must be written to and one read from each neighbour.
  void advance(int step);

  // Writes the message to a neighbour about this step: how many vehicles left each link that comes from it,
  // and the vehicles that drove onto links to it.
  void write(std::size_t neighbour, std::vector<std::int32_t>& message);
  // Reads the neighbour's message. Throws std::runtime_error if it makes no sense.
  void read(std::size_t neighbour, std::span<const std::int32_t> message, int step);
  // Returns the most numbers that a message from the neighbour can have.
  std::size_t most_received(std::size_t neighbour) const;

  Tally tally() const;
  // Returns a digest of the arrival times, and of the places of agents that have not arrived. The exclusive
  // or over all ranks does not depend on the number of ranks.
  std::uint64_t checksum() const;

  // Returns the agents on one of the rank's own links, the next to leave first.
  std::vector<Index> agents_on(Index link) const;

 private:
  // Queue of one of the rank's own links.
  struct Queue {
    Index first = none, first_not_in_buffer = none, last = none;
    std::int32_t vehicles = 0, in_buffer = 0;
    std::int32_t left = 0;            // in this step
    std::int32_t ready_step = never;  // of the first vehicle not in the buffer
  };
  // Constants of a link.
  struct Limits {
    std::int32_t free_flow_steps = 0, storage = 0, buffer = 0;
    std::int32_t vehicles_per_hour = 0;
  };
  struct Parking {
    std::uint32_t next = 0, end = 0;  // index into the trips
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
  std::vector<std::int32_t> room_;      // by link out of the region's junctions: vehicles that fit
  std::vector<Parking> parking_;        // by junction
  std::vector<std::int32_t> buffered_;  // by junction: vehicles in buffers of its links
  std::vector<Index> junction_of_;      // by link: index of its end among the region's junctions
  std::vector<Index> left_;             // links that vehicles left in this step
  std::vector<std::vector<std::int32_t>> departed_;  // by neighbour: vehicles on their way to it, encoded
  // By link after the own ones: neighbour, index in its list.
  std::vector<std::pair<Index, Index>> way_out_;
  struct Candidate {
    Index link;  // `none`: parked vehicles
    std::int32_t weight;
  };
  std::vector<Candidate> candidates_;
  std::int64_t arrived_ = 0, moves_ = 0, travel_steps_ = 0;
  std::uint64_t arrivals_checksum_ = 0;
};

}  // namespace crosscut::traffic
