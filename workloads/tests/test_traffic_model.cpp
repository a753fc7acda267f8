// The rules of the queue model, in small worlds with predictable behaviour.
#include <cmath>

#include "tests/check.hpp"
#include "tests/traffic_examples.hpp"

using namespace crosscut::tests;
using namespace crosscut::traffic;

namespace {

constexpr int worlds = 100;
constexpr int steps = 300;

// Returns true if `after` begins with the rest of `before`, in order; `left`: how many of `before` are gone.
bool is_first_in_first_out(const std::vector<Index>& before, const std::vector<Index>& after,
                           std::size_t& left) {
  left = before.size();
  for (std::size_t gone = 0; gone <= before.size(); ++gone) {
    const std::size_t stayed = before.size() - gone;
    if (stayed > after.size() ||
        !std::equal(before.begin() + static_cast<std::ptrdiff_t>(gone), before.end(), after.begin()))
      continue;
    left = gone;
    return true;
  }
  return false;
}

}  // namespace

TEST(alone_a_vehicle_takes_the_free_flow_time_of_its_links) {
  World world{.roads = line({road(0, 1, 100), road(1, 2, 55), road(2, 3, 7)}), .zones = {3}, .trips = {}};
  world.trips = {{.agent = 0, .origin = 0, .zone = 0, .departure_step = 4}};
  Together all(world);
  const int expected = 4 + 10 + 6 + 1;
  for (; all.now() < expected;) all.step();
  CHECK_EQ(all.tally().driving, 1);
  all.step();
  CHECK_EQ(all.tally().arrived, 1);
  CHECK_EQ(all.tally().travel_steps, expected - 4);
}

TEST(who_is_there_already_arrives_at_once) {
  World world{.roads = line({road(0, 1, 100)}), .zones = {0}, .trips = trips_from(0, 0, 1)};
  Together all(world);
  all.step();
  CHECK_EQ(all.tally().arrived, 1);
  CHECK_EQ(all.tally().travel_steps, 0);
}

TEST(links_have_room_for_their_length_times_lanes) {
  CHECK_EQ(road(0, 1, 75).storage(), 10);
  CHECK_EQ(road(0, 1, 75, 3600, 3).storage(), 30);
  CHECK_EQ(road(0, 1, 1).storage(), 1);
}

// 1,500 an hour are 0.4167 a step: a binomial distribution over the steps in which some want to leave.
TEST(a_link_lets_as_many_through_as_its_capacity) {
  for (const int vehicles_per_hour : {900, 1500, 3000, 3600}) {
    World world{.roads = line({road(0, 1, 750), road(1, 2, 750, vehicles_per_hour)}),
                .zones = {2},
                .trips = trips_from(0, 0, 6000)};
    Together all(world);
    constexpr int warm_up = 400, counted = 4000;
    for (; all.now() < warm_up;) all.step();
    const auto before = all.tally().arrived;
    std::int64_t most = 0;
    for (; all.now() < warm_up + counted;) {
      const auto arrived = all.tally().arrived;
      all.step();
      most = std::max(most, all.tally().arrived - arrived);
    }
    const double rate = vehicles_per_hour / 3600.0;
    const double expected = counted * rate, deviation = std::sqrt(counted * rate * (1 - rate));
    CHECK_EQ(most, 1);
    CHECK(std::abs(static_cast<double>(all.tally().arrived - before) - expected) <= 4 * deviation);
  }
}

TEST(capacities_of_more_than_one_a_step_are_used_and_kept) {
  // Three origins fill the link faster than it empties.
  World world{.roads = {std::vector<Junction>(5),
                        {road(0, 3, 750), road(1, 3, 750), road(2, 3, 750), road(3, 4, 750, 9000, 4)}},
              .zones = {4},
              .trips = {}};
  for (Index origin = 0; origin < 3; ++origin)
    std::ranges::copy(trips_from(origin, 0, 1000, origin * 1000), std::back_inserter(world.trips));
  Together all(world);
  std::int64_t twos = 0, threes = 0;
  for (; all.now() < 800;) {
    const auto arrived = all.tally().arrived;
    all.step();
    const auto more = all.tally().arrived - arrived;
    CHECK(more <= 3);
    twos += more == 2;
    threes += more == 3;
  }
  CHECK(twos > 200);  // of 9,000 an hour: 2.5 a step
  CHECK(threes > 200);
}

TEST(a_jam_spills_back_from_link_to_link_and_off_the_road) {
  World world{.roads = line({road(0, 1, 75), road(1, 2, 75), road(2, 3, 75, 360)}),
              .zones = {3},
              .trips = trips_from(0, 0, 100)};
  Together all(world);
  int full[3] = {0, 0, 0};
  for (; all.now() < 250; all.step())
    for (Index link = 0; link < 3; ++link)
      if (all.agents_on(link).size() == 10 && full[link] == 0) full[link] = all.now();
  CHECK(0 < full[2] && full[2] < full[1] && full[1] < full[0]);
  CHECK(all.tally().parked > 0);
  for (; all.now() < 3000;) all.step();
  CHECK_EQ(all.tally().arrived, 100);
}

TEST(room_that_a_vehicle_leaves_can_be_used_a_step_later) {
  // Links that hold one vehicle: in one step a vehicle leaves, in the next one arrives.
  World world{.roads = line({road(0, 1, 8), road(1, 2, 8)}), .zones = {2}, .trips = trips_from(0, 0, 20)};
  Together all(world);
  for (; all.now() < 10;) all.step();
  for (; all.now() < 30;) {
    const auto before = all.agents_on(1);
    all.step();
    const auto after = all.agents_on(1);
    if (!before.empty() && before != after) CHECK(after.empty());
  }
  CHECK(all.tally().arrived >= 9);
}

TEST(where_room_is_scarce_links_share_it_as_their_capacities_are) {
  // 2,400 and 1,200 an hour compete for 600.
  World world{.roads = {std::vector<Junction>(4),
                        {road(0, 2, 750, 2400), road(1, 2, 750, 1200), road(2, 3, 75, 600)}},
              .zones = {3},
              .trips = trips_from(0, 0, 3000)};
  std::ranges::copy(trips_from(1, 0, 3000, 3000), std::back_inserter(world.trips));
  Together all(world);
  for (; all.now() < 1000;) all.step();
  std::int64_t from_first = 0, from_second = 0;
  auto before = all.agents_on(2);
  for (; all.now() < 13000;) {
    all.step();
    const auto after = all.agents_on(2);
    for (const Index agent : after)
      if (std::ranges::find(before, agent) == before.end()) ++(agent < 3000 ? from_first : from_second);
    before = after;
  }
  const auto share = static_cast<double>(from_first) / static_cast<double>(from_first + from_second);
  CHECK(from_first + from_second > 1500);
  CHECK(std::abs(share - 2.0 / 3) < 0.05);
}

TEST(on_any_roads_links_keep_their_storage_order_and_capacity) {
  for (int seed = 0; seed < worlds; ++seed) {
    const World world = random_world(static_cast<std::uint64_t>(seed));
    Together all(world, random_owners(world, 1 + seed % 5, static_cast<std::uint64_t>(seed)));
    for (; all.now() < steps;) {
      std::vector<std::vector<Index>> before;
      for (Index link = 0; link < world.roads.links.size(); ++link) before.push_back(all.agents_on(link));
      all.step();
      for (Index link = 0; link < world.roads.links.size(); ++link) {
        const auto after = all.agents_on(link);
        std::size_t left = 0;
        CHECK(std::cmp_less_equal(after.size(), world.roads.links[link].storage()));
        CHECK(is_first_in_first_out(before[link], after, left));
        CHECK(std::cmp_less_equal(left, world.roads.links[link].buffer()));
      }
    }
  }
}

TEST(on_any_roads_no_vehicle_is_lost_or_made) {
  for (int seed = 0; seed < worlds; ++seed) {
    const World world = random_world(static_cast<std::uint64_t>(seed));
    Together all(world, random_owners(world, 1 + seed % 5, static_cast<std::uint64_t>(seed)));
    for (; all.now() < steps;) {
      all.step();
      const Tally tally = all.tally();
      CHECK_EQ(tally.parked + tally.driving + tally.arrived, world.trips.size());
      std::vector<Index> driving;
      for (Index link = 0; link < world.roads.links.size(); ++link)
        std::ranges::copy(all.agents_on(link), std::back_inserter(driving));
      CHECK_EQ(driving.size(), tally.driving);
      std::ranges::sort(driving);
      CHECK(std::ranges::adjacent_find(driving) == driving.end());
    }
    CHECK(all.tally().arrived > 0);
  }
}
