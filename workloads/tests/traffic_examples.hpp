// Roads, trips and partitions for tests of the traffic model, and several regions stepped together in one
// process.
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

namespace crosscut::traffic::examples {

struct World {
  RoadNetwork roads;
  std::vector<Index> zones;
  std::vector<Trip> trips;  // of agents 0, 1, ...
  std::uint64_t seed = 1;
};

inline Link road(Index from, Index to, int length_metres, int vehicles_per_hour = 3600, int lanes = 1) {
  return {from, to, length_metres, lanes, 36, vehicles_per_hour};  // 10 m/s
}

// Junctions 0, 1, ... in a line, joined in this direction alone.
inline RoadNetwork line(std::vector<Link> links) {
  return {std::vector<Junction>(links.size() + 1), std::move(links)};
}

// Of trips from junction to zone, all leaving at once.
inline std::vector<Trip> trips_from(Index origin, Index zone, Index count, Index first_agent = 0) {
  std::vector<Trip> trips(count);
  for (Index i = 0; i < count; ++i)
    trips[i] = {.agent = first_agent + i, .origin = origin, .zone = zone, .departure_step = 0};
  return trips;
}

// A ring, so that there is a way from everywhere to everywhere, and chords. Short links and small capacities
// among them, so that all queues and both kinds of limits matter.
inline World random_world(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  const auto junctions = static_cast<Index>(draw(5, 30));
  std::vector<Link> links;
  const auto add = [&](Index from, Index to) {
    links.push_back(road(from, to, draw(1, 10) * 12, draw(1, 4) * 1300, draw(1, 2)));
  };
  for (Index i = 0; i < junctions; ++i) add(i, (i + 1) % junctions);
  for (int i = draw(0, 40); i > 0; --i) {
    const auto from = static_cast<Index>(draw(0, static_cast<int>(junctions) - 1));
    add(from, (from + static_cast<Index>(draw(1, static_cast<int>(junctions) - 1))) % junctions);
  }
  World world{
      .roads = RoadNetwork(std::vector<Junction>(junctions), links), .zones = {}, .trips = {}, .seed = seed};
  for (int i = draw(1, 4); i > 0; --i)
    world.zones.push_back(static_cast<Index>(draw(0, static_cast<int>(junctions) - 1)));
  for (int i = 0; i < draw(100, 600); ++i)
    world.trips.push_back({.agent = static_cast<Index>(i),
                           .origin = static_cast<Index>(draw(0, static_cast<int>(junctions) - 1)),
                           .zone = static_cast<Index>(draw(0, static_cast<int>(world.zones.size()) - 1)),
                           .departure_step = draw(0, 100)});
  return world;
}

// Any junction at any rank: harder than what is compact.
inline std::vector<int> random_owners(const World& world, int ranks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> owners(world.roads.junctions.size());
  for (int& owner : owners) owner = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
  return owners;
}

// Ranks as they would be, with messages handed over.
class Together {
 public:
  Together(const World& world, const std::vector<int>& owners)
      : world_(world), routes_(world.roads, world.zones), owners_(owners) {
    const int ranks = *std::ranges::max_element(owners) + 1;
    for (int rank = 0; rank < ranks; ++rank) {
      regions_.push_back(std::make_unique<Region>(world.roads, owners, rank));
      std::vector<Trip> trips;
      std::ranges::copy_if(world.trips, std::back_inserter(trips),
                           [&](const Trip& trip) { return owners[trip.origin] == rank; });
      std::ranges::sort(trips, {}, [](const Trip& trip) {
        return std::tuple(trip.origin, trip.departure_step, trip.agent);
      });
      models_.push_back(
          std::make_unique<QueueModel>(world.roads, routes_, *regions_.back(), std::move(trips), world.seed));
    }
  }
  explicit Together(const World& world) : Together(world, std::vector<int>(world.roads.junctions.size())) {}

  void step() {
    for (const auto& model : models_) model->advance(now_);
    largest_by_bound_ = std::max(largest_by_bound_, exchange());
    ++now_;
  }
  int now() const { return now_; }

  // Of what was sent, the most as a part of what the receiver was ready for.
  double largest_by_bound() const { return largest_by_bound_; }

  std::vector<Index> agents_on(Index link) const {
    return models_[static_cast<std::size_t>(owners_[world_.roads.links[link].to])]->agents_on(link);
  }

  Tally tally() const {
    Tally all;
    for (const auto& model : models_) {
      const Tally one = model->tally();
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

  const Region& region(std::size_t rank) const { return *regions_[rank]; }
  QueueModel& model(std::size_t rank) { return *models_[rank]; }

 private:
  double exchange() {
    double largest = 0;
    std::vector<std::int32_t> message;
    for (std::size_t rank = 0; rank < models_.size(); ++rank)
      for (std::size_t i = 0; i < regions_[rank]->neighbours().size(); ++i) {
        const auto other = static_cast<std::size_t>(regions_[rank]->neighbours()[i].rank);
        const auto back = static_cast<std::size_t>(
            std::ranges::find(regions_[other]->neighbours(), static_cast<int>(rank), &Neighbour::rank) -
            regions_[other]->neighbours().begin());
        models_[rank]->write(i, message);
        models_[other]->read(back, message, now_);
        largest = std::max(largest, static_cast<double>(message.size()) /
                                        static_cast<double>(models_[other]->most_received(back)));
      }
    return largest;
  }

  const World& world_;
  Routes routes_;
  std::vector<int> owners_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::vector<std::unique_ptr<QueueModel>> models_;
  int now_ = 0;
  double largest_by_bound_ = 0;
};

}  // namespace crosscut::traffic::examples
