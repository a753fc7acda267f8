// The simulated scenario: a region of roads, and who drives where, all derived from a seed.
//
// There are two shapes, after those that Cetin, Burri and Nagel timed (Parallel queue model approach to
// traffic microsimulations, 2002; the network of Switzerland has 10,564 junctions and 28,622 links):
// - bottleneck, like their Gotthard scenario: 50,000 vehicles start all over the country within an hour, and
//   all drive to one place beyond a ridge that one road crosses. Few vehicles, which pile up at one boundary.
// - everyday, like their morning of all of Switzerland: about a million trips within three hours, to
//   anywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "npb/common/problem_class.hpp"
#include "traffic/random.hpp"
#include "traffic/road_network.hpp"

namespace crosscut::traffic {

enum class Shape : std::uint8_t { everyday, bottleneck };

inline constexpr std::array<std::string_view, 2> shape_names{"everyday", "bottleneck"};
inline constexpr int step_seconds = 1;

struct Scenario {
  Shape shape = Shape::everyday;
  int columns = 0;  // of junctions
  int rows = 0;
  int agents = 0;
  int steps = 0;  // a second each
  int zones = 0;  // places at which trips end; 1 in the bottleneck
  std::uint64_t seed = 1;

  bool operator==(const Scenario&) const = default;
  std::string_view name() const { return shape_names[static_cast<std::size_t>(shape)]; }
};

inline constexpr int spacing_metres = 500;
// Less than half the spacing, so that columns keep their order.
inline constexpr int jitter_metres = 100;
inline constexpr int arterial_every = 4;
inline constexpr int motorway_every = 16;

enum Level : std::uint8_t { local, arterial, motorway };

struct Road {
  int lanes, speed_km_per_hour, vehicles_per_hour;
};
inline constexpr std::array<Road, 3> roads_by_level{{{1, 50, 800}, {2, 80, 2400}, {2, 120, 4000}}};
// One lane each way, as in the Gotthard's tunnel.
inline constexpr Road pass{1, 80, 1500};
// Percentage of local roads along rows that are missing. Those along columns are complete, so that every
// column is connected; complete rows join them.
inline constexpr int missing_percent = 30;
inline constexpr std::size_t junctions_per_candidate = 640;

inline Level level_of(int line) {
  if (line % motorway_every == motorway_every / 2) return motorway;
  return line % arterial_every == 0 ? arterial : local;
}

// Returns the row of the road across the ridge: the last motorway up to the middle, else the last arterial.
inline int pass_row(const Scenario& scenario) {
  for (const Level level : {motorway, arterial})
    for (int row = scenario.rows / 2; row >= 0; --row)
      if (level_of(row) == level) return row;
  return 0;
}

inline Index junction_at(const Scenario& scenario, int row, int column) {
  return static_cast<Index>(row * scenario.columns + column);
}

inline int distance_metres(const Junction& a, const Junction& b) {
  const double dx = a.x_metres - b.x_metres, dy = a.y_metres - b.y_metres;
  // Squares of whole numbers are exact, and the root is correctly rounded: the same on every machine.
  return static_cast<int>(std::lround(std::sqrt(dx * dx + dy * dy)));
}

class Builder {
 public:
  explicit Builder(const Scenario& scenario) : scenario_(scenario), random_(scenario.seed) {}

  RoadNetwork build() {
    for (int row = 0; row < scenario_.rows; ++row)
      for (int column = 0; column < scenario_.columns; ++column) {
        const int x = jitter(Purpose::position_x, row, column), y = jitter(Purpose::position_y, row, column);
        junctions_.push_back({column * spacing_metres + x, row * spacing_metres + y});
      }
    for (int row = 0; row < scenario_.rows; ++row)
      for (int column = 0; column < scenario_.columns; ++column) {
        if (column + 1 < scenario_.columns) along_row(row, column);
        if (row + 1 < scenario_.rows) join(at(row, column), at(row + 1, column), road(level_of(column)));
      }
    return {std::move(junctions_), std::move(links_)};
  }

 private:
  Index at(int row, int column) const { return junction_at(scenario_, row, column); }

  static Road road(Level level) { return roads_by_level[level]; }

  int jitter(Purpose purpose, int first, int second) const {
    return static_cast<int>(random_.below(2 * jitter_metres + 1, purpose, first, second)) - jitter_metres;
  }

  void along_row(int row, int column) {
    const Level level = level_of(row);
    const bool crosses_ridge = scenario_.shape == Shape::bottleneck && column + 1 == scenario_.columns / 2;
    if (crosses_ridge) {
      if (row == pass_row(scenario_)) join(at(row, column), at(row, column + 1), pass);
      return;
    }
    if (level == local && random_.below(100, Purpose::road, at(row, column)) < missing_percent) return;
    join(at(row, column), at(row, column + 1), road(level));
  }

  // Adds links in both directions.
  void join(Index a, Index b, const Road& road) {
    const int length = distance_metres(junctions_[a], junctions_[b]);
    links_.push_back({a, b, length, road.lanes, road.speed_km_per_hour, road.vehicles_per_hour});
    links_.push_back({b, a, length, road.lanes, road.speed_km_per_hour, road.vehicles_per_hour});
  }

  const Scenario& scenario_;
  Random random_;
  std::vector<Junction> junctions_;
  std::vector<Link> links_;
};

// Class A has the paper's numbers of junctions, agents and steps.
inline Scenario scenario_of(Shape shape, npb::ProblemClass problem_class) {
  struct Size {
    int columns, rows, everyday_agents, bottleneck_agents, steps, zones;
  };
  constexpr npb::PerClass<Size> sizes{{{{24, 16, 4'000, 2'000, 600, 16},
                                        {64, 48, 40'000, 10'000, 1'200, 128},
                                        {128, 84, 1'000'000, 50'000, 10'800, 512},
                                        {256, 168, 2'000'000, 100'000, 10'800, 512},
                                        {512, 336, 4'000'000, 200'000, 10'800, 1'024}}}};
  const Size& size = sizes[problem_class];
  const bool everyday = shape == Shape::everyday;
  return Scenario{.shape = shape,
                  .columns = size.columns,
                  .rows = size.rows,
                  .agents = everyday ? size.everyday_agents : size.bottleneck_agents,
                  .steps = size.steps,
                  .zones = everyday ? size.zones : 1};
}

inline RoadNetwork make_roads(const Scenario& scenario) { return Builder(scenario).build(); }

// Returns the junctions at which trips end.
inline std::vector<Index> make_zones(const Scenario& scenario, const RoadNetwork& roads) {
  if (scenario.shape == Shape::bottleneck)
    return {junction_at(scenario, pass_row(scenario), scenario.columns * 3 / 4)};
  const Random random(scenario.seed);
  std::vector<Index> zones;
  for (int i = 0; i < scenario.zones; ++i)
    zones.push_back(static_cast<Index>(
        random.below(static_cast<std::int64_t>(roads.junctions.size()), Purpose::zone, i)));
  return zones;
}

struct Trip {
  Index agent = 0;
  Index origin = 0;  // junction
  Index zone = 0;    // index into the result of `make_zones`
  int departure_step = 0;
};

// Returns a junction.
inline Index origin_of(Index agent, const Scenario& scenario, const RoadNetwork& roads) {
  return static_cast<Index>(
      Random(scenario.seed).below(static_cast<std::int64_t>(roads.junctions.size()), Purpose::origin, agent));
}

// Returns the nearest of several random zones. How many depends on the region's size, so that the length of
// trips does not: about 7 km as the crow flies, with many shorter and few longer ones.
inline Index pick_zone(Index agent, const Junction& from, const Random& random, const RoadNetwork& roads,
                       const std::vector<Index>& zones) {
  const int candidates = static_cast<int>(roads.junctions.size() / junctions_per_candidate) + 1;
  Index best = 0;
  for (int i = 0; i < candidates; ++i) {
    const auto zone = static_cast<Index>(
        random.below(static_cast<std::int64_t>(zones.size()), Purpose::destination, agent, i));
    const auto distance = [&](Index one) { return distance_metres(from, roads.junctions[zones[one]]); };
    if (i == 0 || distance(zone) < distance(best)) best = zone;
  }
  return best;
}

inline Trip trip_of(Index agent, const Scenario& scenario, const RoadNetwork& roads,
                    const std::vector<Index>& zones) {
  const Random random(scenario.seed);
  Trip trip{.agent = agent, .origin = origin_of(agent, scenario, roads)};
  if (scenario.shape == Shape::bottleneck) {
    // Departures between 6 and 7 of a simulated time from 6 to 9.
    trip.departure_step =
        static_cast<int>(random.below(std::max(1, scenario.steps / 3), Purpose::departure, agent));
    return trip;
  }
  trip.zone = pick_zone(agent, roads.junctions[trip.origin], random, roads, zones);
  // The mean of two draws gives a rush in the middle.
  const auto half = [&](int which) { return random.below(scenario.steps, Purpose::departure, agent, which); };
  trip.departure_step = static_cast<int>((half(0) + half(1)) / 2);
  return trip;
}

}  // namespace crosscut::traffic
