// Vehicles on the roads of one rank, in queues that are lists through one array.
#pragma once

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "traffic/road_network.hpp"

namespace crosscut::traffic {

inline constexpr Index none = std::numeric_limits<Index>::max();

struct Vehicle {
  Index agent = 0;
  int departure_step = 0;
  int ready_step = 0;  // when it has driven its link from end to end
  Index behind = none;
  std::vector<Index> plan;   // links
  std::size_t followed = 0;  // of them, up to and with the one that it is on

  std::span<const Index> ahead() const { return std::span(plan).subspan(followed); }
};

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

}  // namespace crosscut::traffic
