// The model in parts equals the whole model, and both equal a plainly written one.
#include <deque>
#include <stdexcept>

#include "tests/check.hpp"
#include "tests/traffic_examples.hpp"
#include "traffic/region.hpp"

using namespace crosscut::tests;
using namespace crosscut::traffic;

namespace {

constexpr int steps = 250;
constexpr std::uint64_t worlds = 100;

struct Car {
  Index agent;
  int ready_step;
  std::deque<Index> plan;
};

// The same rules without parts, lists or counters. Room is that at the beginning of the step.
class Plain {
 public:
  explicit Plain(const World& world)
      : world_(world),
        routes_(world.roads, world.zones),
        random_(world.seed),
        queue_(world.roads.links.size()),
        buffer_(world.roads.links.size()),
        parked_(world.roads.junctions.size()) {
    std::vector<Trip> trips = world.trips;
    std::ranges::stable_sort(trips, {}, &Trip::departure_step);
    for (const Trip& trip : trips) parked_[trip.origin].push_back(trip);
  }

  void step() {
    std::vector<int> room;
    for (Index i = 0; i < queue_.size(); ++i)
      room.push_back(world_.roads.links[i].storage() -
                     static_cast<int>(queue_[i].size() + buffer_[i].size()));
    for (Index i = 0; i < queue_.size(); ++i) fill(i);
    for (Index i = 0; i < parked_.size(); ++i) cross(i, room);
    ++now_;
  }

  std::vector<Index> agents_on(Index link) const {
    std::vector<Index> agents;
    for (const Car& car : buffer_[link]) agents.push_back(car.agent);
    for (const Car& car : queue_[link]) agents.push_back(car.agent);
    return agents;
  }
  std::int64_t arrived() const { return arrived_; }

 private:
  void fill(Index i) {
    const Link& link = world_.roads.links[i];
    const auto chance = random_.below(3600, Purpose::capacity, i, now_);
    const int allowed = link.vehicles_per_hour / 3600 + (chance < link.vehicles_per_hour % 3600 ? 1 : 0);
    for (int n = 0; n < allowed; ++n) {
      if (queue_[i].empty() || queue_[i].front().ready_step > now_) return;
      if (static_cast<int>(buffer_[i].size()) == (link.vehicles_per_hour + 3599) / 3600) return;
      buffer_[i].push_back(queue_[i].front());
      queue_[i].pop_front();
    }
  }

  bool go(Car car, std::vector<int>& room) {
    if (car.plan.empty()) {
      ++arrived_;
      return true;
    }
    const Index next = car.plan.front();
    if (room[next] == 0) return false;
    --room[next];
    car.plan.pop_front();
    car.ready_step = now_ + world_.roads.links[next].free_flow_steps();
    queue_[next].push_back(car);
    return true;
  }

  void leave_parking(Index junction, std::vector<int>& room) {
    const Trip trip = parked_[junction].front();
    std::vector<Index> plan;
    routes_.append_plan(junction, trip.zone, plan);
    if (go({trip.agent, 0, {plan.begin(), plan.end()}}, room)) parked_[junction].pop_front();
  }

  void cross(Index junction, std::vector<int>& room) {
    struct Stream {
      Index link;
      int weight;
    };
    std::vector<Stream> streams;
    for (const Index i : world_.roads.into.of(junction))
      if (!buffer_[i].empty()) streams.push_back({i, world_.roads.links[i].vehicles_per_hour});
    if (!parked_[junction].empty() && parked_[junction].front().departure_step <= now_)
      streams.push_back({none, 800});
    for (int draw = 0; !streams.empty(); ++draw) {
      std::int64_t total = 0;
      for (const Stream& stream : streams) total += stream.weight;
      auto drawn = random_.below(total, Purpose::turn, junction, std::int64_t{now_} * 1024 + draw);
      std::size_t at = 0;
      for (; drawn >= streams[at].weight; ++at) drawn -= streams[at].weight;
      const Index link = streams[at].link;
      streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(at));
      if (link == none)
        leave_parking(junction, room);
      else
        while (!buffer_[link].empty() && go(buffer_[link].front(), room)) buffer_[link].pop_front();
    }
  }

  const World& world_;
  Routes routes_;
  Random random_;
  std::vector<std::deque<Car>> queue_, buffer_;
  std::vector<std::deque<Trip>> parked_;
  int now_ = 0;
  std::int64_t arrived_ = 0;
};

struct Ending {
  std::uint64_t checksum;
  Tally tally;
};

Ending run(const World& world, const std::vector<int>& owners) {
  Together all(world, owners);
  while (all.now() < steps) all.step();
  return {all.checksum(), all.tally()};
}

}  // namespace

TEST(in_parts_it_is_the_plain_model_step_for_step) {
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    const World world = random_world(seed);
    Together all(world, random_owners(world, 1 + static_cast<int>(seed % 4), seed));
    Plain plain(world);
    for (int step = 0; step < steps; ++step) {
      all.step();
      plain.step();
      CHECK_EQ(all.tally().arrived, plain.arrived());
      for (Index link = 0; link < world.roads.links.size(); ++link)
        CHECK_EQ(all.agents_on(link), plain.agents_on(link));
    }
  }
}

TEST(every_partition_ends_in_the_same_state) {
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    const World world = random_world(seed);
    const Ending whole = run(world, std::vector<int>(world.roads.junctions.size()));
    for (const int ranks : {2, 3, 4, 7}) {
      const Ending parts = run(world, random_owners(world, ranks, seed + 100));
      CHECK_EQ(parts.checksum, whole.checksum);
      CHECK_EQ(parts.tally.arrived, whole.tally.arrived);
      CHECK_EQ(parts.tally.moves, whole.tally.moves);
      CHECK_EQ(parts.tally.travel_steps, whole.tally.travel_steps);
    }
  }
}

TEST(the_checksum_is_another_where_a_vehicle_is_elsewhere_or_later) {
  const auto checksum = [](int departure_step, int steps_done, Index agent = 0) {
    World world{
        .roads = line({road(0, 1, 100), road(1, 2, 55)}), .zones = {2}, .trips = trips_from(0, 0, 1, agent)};
    world.trips[0].departure_step = departure_step;
    Together all(world);
    while (all.now() < steps_done) all.step();
    return all.checksum();
  };
  constexpr int driving = 5, arrived = 100;
  for (const int done : {driving, arrived}) {
    CHECK(checksum(1, done) != checksum(2, done));
    CHECK(checksum(1, done) != checksum(1, done, 1));
  }
  CHECK_EQ(checksum(driving + 1, driving), checksum(driving + 2, driving));  // both are still parked
}

TEST(no_message_is_longer_than_the_receiver_is_ready_for) {
  double largest = 0;
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    const World world = random_world(seed);
    Together all(world, random_owners(world, 3, seed));
    while (all.now() < steps) all.step();
    largest = std::max(largest, all.largest_by_bound());
  }
  CHECK(largest <= 1);
  CHECK(largest > 0.2);
}

TEST(neighbours_list_the_links_between_them_alike) {
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    const World world = random_world(seed);
    const auto owners = random_owners(world, 4, seed);
    std::vector<Region> regions;
    for (int rank = 0; rank < 4; ++rank) regions.emplace_back(world.roads, owners, rank);
    std::size_t split = 0;
    for (int rank = 0; rank < 4; ++rank)
      for (const Neighbour& neighbour : regions[static_cast<std::size_t>(rank)].neighbours) {
        const Region& here = regions[static_cast<std::size_t>(rank)];
        const Region& there = regions[static_cast<std::size_t>(neighbour.rank)];
        const auto back = std::ranges::find(there.neighbours, rank, &Neighbour::rank);
        REQUIRE(back != there.neighbours.end());
        REQUIRE(back->outbound.size() == neighbour.inbound.size());
        for (std::size_t i = 0; i < neighbour.inbound.size(); ++i)
          CHECK_EQ(there.numbers[back->outbound[i]], here.numbers[neighbour.inbound[i]]);
        split += neighbour.inbound.size();
      }
    CHECK_EQ(split, std::ranges::count_if(world.roads.links, [&](const Link& link) {
               return owners[link.from] != owners[link.to];
             }));
  }
}

TEST(a_message_that_makes_no_sense_is_refused_with_who_sent_it) {
  World world{.roads = line({road(0, 1, 75), road(1, 2, 75)}), .zones = {2}, .trips = trips_from(0, 0, 3)};
  const auto reading = [&](const std::vector<std::int32_t>& message, std::size_t rank) {
    Together all(world, {0, 1, 1});
    all.model(rank).read(0, message, 7);
  };
  reading({}, 1);
  reading({0, 9, 0, 1, 1}, 1);  // onto link 0, agent 9, departed at 0, link 1 ahead
  constexpr const char* from_0 = "the message of rank 0 in step 7 makes no sense: ";
  const auto refused = [&](const std::vector<std::int32_t>& message, const std::string& why) {
    CHECK_THROWS_SAYING(std::runtime_error, from_0 + why, reading(message, 1));
  };
  refused({0, 9}, "it ends too early");
  refused({1, 9, 0, 0}, "link 1 of 1");
  refused({-1, 9, 0, 0}, "-1 cannot be a count");
  refused({0, 9, 0, 2, 1}, "a plan of 2 links ends too early");
  refused({0, 9, 0, 1, 2}, "link 2 of 2");
  CHECK_THROWS_SAYING(std::runtime_error, "it ends too early", reading({}, 0));
  CHECK_THROWS_SAYING(std::runtime_error, "1 vehicles left link 0, which had fewer", reading({1}, 0));
}
