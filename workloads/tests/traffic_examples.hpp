// Roads, trips and partitions for tests of the traffic model, and regions stepped together in one process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "traffic/queue_model.hpp"

namespace crosscut::tests {

struct World {
  traffic::RoadNetwork roads;
  std::vector<traffic::Index> zones;
  std::vector<traffic::Trip> trips;  // of agents 0, 1, ...
  std::uint64_t seed = 1;
};

inline traffic::Link road(traffic::Index from, traffic::Index to, int length_metres,
                          int vehicles_per_hour = 3600, int lanes = 1) {
  return {from, to, length_metres, lanes, 36, vehicles_per_hour};  // 10 m/s
}

// Returns junctions 0, 1, ... in a line, joined in this direction only.
inline traffic::RoadNetwork line(std::vector<traffic::Link> links) {
  return {std::vector<traffic::Junction>(links.size() + 1), std::move(links)};
}

// Returns trips from a junction to a zone that all leave at once.
inline std::vector<traffic::Trip> trips_from(traffic::Index origin, traffic::Index zone, traffic::Index count,
                                             traffic::Index first_agent = 0) {
  std::vector<traffic::Trip> trips(count);
  for (traffic::Index i = 0; i < count; ++i)
    trips[i] = {.agent = first_agent + i, .origin = origin, .zone = zone, .departure_step = 0};
  return trips;
}

// A ring, so that routes lead from everywhere to everywhere, with chords. Some links are short and some
// capacities small, so that all queues and both kinds of limits matter.
inline World random_world(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  const auto junctions = static_cast<traffic::Index>(draw(5, 30));
  std::vector<traffic::Link> links;
  const auto add = [&](traffic::Index from, traffic::Index to) {
    links.push_back(road(from, to, draw(1, 10) * 12, draw(1, 4) * 1300, draw(1, 2)));
  };
  for (traffic::Index i = 0; i < junctions; ++i) add(i, (i + 1) % junctions);
  for (int i = draw(0, 40); i > 0; --i) {
    const auto from = static_cast<traffic::Index>(draw(0, static_cast<int>(junctions) - 1));
    add(from, (from + static_cast<traffic::Index>(draw(1, static_cast<int>(junctions) - 1))) % junctions);
  }
  World world{.roads = traffic::RoadNetwork(std::vector<traffic::Junction>(junctions), links),
              .zones = {},
              .trips = {},
              .seed = seed};
  for (int i = draw(1, 4); i > 0; --i)
    world.zones.push_back(static_cast<traffic::Index>(draw(0, static_cast<int>(junctions) - 1)));
  for (int i = 0; i < draw(100, 600); ++i)
    world.trips.push_back(
        {.agent = static_cast<traffic::Index>(i),
         .origin = static_cast<traffic::Index>(draw(0, static_cast<int>(junctions) - 1)),
         .zone = static_cast<traffic::Index>(draw(0, static_cast<int>(world.zones.size()) - 1)),
         .departure_step = draw(0, 100)});
  return world;
}

// Assigns every junction to a random rank: harder than compact regions.
inline std::vector<int> random_owners(const World& world, int ranks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> owners(world.roads.junctions.size());
  for (int& owner : owners) owner = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
  return owners;
}

// All ranks' models in one process, with messages passed directly.
class Together {
 public:
  Together(const World& world, const std::vector<int>& owners)
      : world_(world), routes_(world.roads, world.zones), owners_(owners) {
    const int ranks = *std::ranges::max_element(owners) + 1;
    for (int rank = 0; rank < ranks; ++rank) {
      regions_.push_back(std::make_unique<traffic::Region>(world.roads, owners, rank));
      std::vector<traffic::Trip> trips;
      std::ranges::copy_if(world.trips, std::back_inserter(trips),
                           [&](const traffic::Trip& trip) { return owners[trip.origin] == rank; });
      std::ranges::sort(trips, {}, [](const traffic::Trip& trip) {
        return std::tuple(trip.origin, trip.departure_step, trip.agent);
      });
      models_.push_back(std::make_unique<traffic::QueueModel>(world.roads, routes_, *regions_.back(),
                                                              std::move(trips), world.seed));
    }
  }
  explicit Together(const World& world) : Together(world, std::vector<int>(world.roads.junctions.size())) {}

  void step() {
    for (const auto& model : models_) model->advance(now_);
    largest_by_bound_ = std::max(largest_by_bound_, exchange());
    ++now_;
  }
  int now() const { return now_; }

  // Returns the largest ratio of a message's size to the size that the receiver was ready for.
  double largest_by_bound() const { return largest_by_bound_; }

  std::vector<traffic::Index> agents_on(traffic::Index link) const {
    return models_[static_cast<std::size_t>(owners_[world_.roads.links[link].to])]->agents_on(link);
  }

  traffic::Tally tally() const {
    traffic::Tally all;
    for (const auto& model : models_) {
      const traffic::Tally one = model->tally();
      all.parked += one.parked;
      all.driving += one.driving;
      all.arrived += one.arrived;
      all.moves += one.moves;
      all.travel_steps += one.travel_steps;
    }
    return all;
  }

  std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (const auto& model : models_) sum ^= model->checksum();
    return sum;
  }

  const traffic::Region& region(std::size_t rank) const { return *regions_[rank]; }
  traffic::QueueModel& model(std::size_t rank) { return *models_[rank]; }

 private:
  double exchange() {
    double largest = 0;
    std::vector<std::int32_t> message;
    for (std::size_t rank = 0; rank < models_.size(); ++rank)
      for (std::size_t i = 0; i < regions_[rank]->neighbours.size(); ++i) {
        const auto other = static_cast<std::size_t>(regions_[rank]->neighbours[i].rank);
        const auto back =
            static_cast<std::size_t>(std::ranges::find(regions_[other]->neighbours, static_cast<int>(rank),
                                                       &traffic::Neighbour::rank) -
                                     regions_[other]->neighbours.begin());
        models_[rank]->write(i, message);
        models_[other]->read(back, message, now_);
        largest = std::max(largest, static_cast<double>(message.size()) /
                                        static_cast<double>(models_[other]->most_received(back)));
      }
    return largest;
  }

  const World& world_;
  traffic::Routes routes_;
  std::vector<int> owners_;
  std::vector<std::unique_ptr<traffic::Region>> regions_;
  std::vector<std::unique_ptr<traffic::QueueModel>> models_;
  int now_ = 0;
  double largest_by_bound_ = 0;
};

}  // namespace crosscut::tests
