// Roads, trips and routes of the scenarios, and their division among ranks.
#include <algorithm>
#include <limits>
#include <set>

#include "tests/check.hpp"
#include "traffic/region.hpp"
#include "traffic/routes.hpp"
#include "traffic/scenario.hpp"

using namespace crosscut::npb;
using namespace crosscut::traffic;
using crosscut::npb::ProblemClass;

namespace {

Scenario small(Shape shape, int columns, int rows, std::uint64_t seed) {
  return {.shape = shape,
          .columns = columns,
          .rows = rows,
          .agents = 500,
          .steps = 600,
          .zones = shape == Shape::everyday ? 5 : 1,
          .seed = seed};
}

// Finds the shortest times by relaxing every link until nothing changes.
std::vector<int> slowly(const RoadNetwork& roads, Index destination) {
  std::vector<int> steps(roads.junctions.size(), std::numeric_limits<int>::max() / 2);
  steps[destination] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Link& link : roads.links)
      if (const int found = steps[link.to] + link.free_flow_steps(); found < steps[link.from]) {
        steps[link.from] = found;
        changed = true;
      }
  }
  return steps;
}

int steps_of(const RoadNetwork& roads, const std::vector<Index>& plan) {
  int steps = 0;
  for (const Index link : plan) steps += roads.links[link].free_flow_steps();
  return steps;
}

}  // namespace

TEST(plans_lead_there_and_no_way_is_faster) {
  for (const Shape shape : {Shape::everyday, Shape::bottleneck})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Scenario scenario = small(shape, 14, 11, seed);
      const RoadNetwork roads = make_roads(scenario);
      const auto zones = make_zones(scenario, roads);
      const Routes routes(roads, zones);
      int longest = 0;
      for (Index zone = 0; zone < zones.size(); ++zone) {
        const auto fastest = slowly(roads, zones[zone]);
        for (Index origin = 0; origin < roads.junctions.size(); ++origin) {
          std::vector<Index> plan;
          routes.append_plan(origin, zone, plan);
          Index at = origin;
          for (const Index link : plan) {
            CHECK_EQ(roads.links[link].from, at);
            at = roads.links[link].to;
          }
          CHECK_EQ(at, zones[zone]);
          CHECK_EQ(steps_of(roads, plan), fastest[origin]);
          longest = std::max(longest, static_cast<int>(plan.size()));
        }
      }
      CHECK_EQ(routes.longest(), longest);
    }
}

TEST(from_everywhere_there_is_a_way_to_everywhere_whatever_the_size) {
  for (const Shape shape : {Shape::everyday, Shape::bottleneck})
    for (const auto& [columns, rows] : {std::pair{4, 2}, {5, 9}, {9, 5}, {16, 24}, {33, 20}}) {
      const RoadNetwork roads = make_roads(small(shape, columns, rows, 7));
      for (const Index one : {Index{0}, static_cast<Index>(roads.junctions.size() - 1)})
        for (const int steps : slowly(roads, one)) CHECK(steps < 1'000'000);
    }
}

TEST(one_road_crosses_the_ridge_of_the_bottleneck) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Scenario scenario = small(Shape::bottleneck, 24, 16, seed);
    const RoadNetwork roads = make_roads(scenario);
    const auto is_east = [&](Index junction) { return junction % 24 >= 12; };
    CHECK_EQ(std::ranges::count_if(roads.links,
                                   [&](const Link& link) { return is_east(link.from) != is_east(link.to); }),
             2);
    CHECK(is_east(make_zones(scenario, roads)[0]));
  }
}

TEST(two_ranks_of_the_bottleneck_meet_at_the_pass) {
  const Scenario scenario = scenario_of(Shape::bottleneck, ProblemClass::A);
  const RoadNetwork roads = make_roads(scenario);
  const auto owners = bisect(roads, 2);
  CHECK_EQ(std::ranges::count_if(roads.links,
                                 [&](const Link& link) { return owners[link.from] != owners[link.to]; }),
           2);
}

TEST(ranks_have_as_many_junctions_as_can_be) {
  const RoadNetwork roads = make_roads(small(Shape::everyday, 23, 17, 1));
  for (const int ranks : {1, 2, 3, 4, 7, 16, 60}) {
    std::vector<int> counts(static_cast<std::size_t>(ranks));
    for (const int owner : bisect(roads, ranks)) ++counts[static_cast<std::size_t>(owner)];
    const auto [least, most] = std::ranges::minmax(counts);
    CHECK(least >= 23 * 17 / ranks - 1);
    CHECK(most <= 23 * 17 / ranks + 2);
  }
}

TEST(as_many_ranks_as_junctions_have_one_each) {
  const RoadNetwork roads = make_roads(small(Shape::everyday, 5, 4, 1));
  const auto owners = bisect(roads, 20);
  CHECK_EQ(std::set<int>(owners.begin(), owners.end()).size(), 20u);
}

// Cetin and Nagel: compact regions have six neighbours on average.
TEST(regions_are_compact_so_that_neighbours_are_few) {
  const RoadNetwork roads = make_roads(scenario_of(Shape::everyday, ProblemClass::W));
  const auto owners = bisect(roads, 64);
  std::size_t neighbours = 0;
  for (int rank = 0; rank < 64; ++rank) neighbours += Region(roads, owners, rank).neighbours.size();
  CHECK(neighbours <= 64 * 6);
}

TEST(the_class_of_the_paper_has_roads_as_many_as_the_paper) {
  const RoadNetwork roads = make_roads(scenario_of(Shape::everyday, ProblemClass::A));
  CHECK_EQ(roads.junctions.size(), 10752u);
  CHECK(roads.links.size() > 28'000 && roads.links.size() < 40'000);
}

TEST(another_seed_makes_other_roads_and_trips_and_the_same_the_same) {
  const auto lengths = [](std::uint64_t seed) {
    std::vector<int> found;
    for (const Link& link : make_roads(small(Shape::everyday, 12, 9, seed)).links)
      found.push_back(link.length_metres);
    return found;
  };
  CHECK_EQ(lengths(3), lengths(3));
  CHECK(lengths(3) != lengths(4));
}

TEST(trips_begin_and_end_within_what_is_simulated) {
  for (const Shape shape : {Shape::everyday, Shape::bottleneck}) {
    const Scenario scenario = small(shape, 14, 11, 2);
    const RoadNetwork roads = make_roads(scenario);
    const auto zones = make_zones(scenario, roads);
    std::set<Index> origins;
    for (Index agent = 0; agent < 500; ++agent) {
      const Trip trip = trip_of(agent, scenario, roads, zones);
      CHECK_EQ(trip.agent, agent);
      CHECK(trip.origin < roads.junctions.size());
      CHECK(trip.zone < zones.size());
      CHECK(trip.departure_step >= 0 && trip.departure_step < scenario.steps);
      if (shape == Shape::bottleneck) CHECK(trip.departure_step < scenario.steps / 3);
      origins.insert(trip.origin);
    }
    CHECK(origins.size() > 100);
  }
}

TEST(numbers_are_drawn_evenly_and_for_each_purpose_anew) {
  const Random random(1);
  std::vector<int> counts(10);
  for (int i = 0; i < 100'000; ++i)
    ++counts[static_cast<std::size_t>(random.below(10, Purpose::capacity, i / 100, i % 100))];
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 400);  // 4 standard deviations
  int same = 0;
  for (int i = 0; i < 10'000; ++i)
    same += random.below(100, Purpose::origin, i) == random.below(100, Purpose::departure, i);
  CHECK(same > 40 && same < 170);
}
