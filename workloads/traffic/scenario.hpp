// What is simulated: a region of roads, and who drives where, all from a seed.
//
// Two shapes, after those that Cetin, Burri and Nagel timed (Parallel queue model approach to traffic
// microsimulations, 2002; the network of Switzerland has 10,564 junctions and 28,622 links):
// - bottleneck, as their Gotthard scenario: 50,000 vehicles start all over the country within an hour and all
// go
//   to one place, beyond a ridge that one road crosses. Few vehicles; they pile up at one boundary.
// - everyday, as their morning of all of Switzerland: about a million trips within three hours, to anywhere.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
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
  int zones = 0;  // places that trips end at; 1 in the bottleneck
  std::uint64_t seed = 1;

  bool operator==(const Scenario&) const = default;
  std::string_view name() const { return shape_names[static_cast<std::size_t>(shape)]; }
};

// A has the paper's numbers of junctions, agents and steps.
Scenario scenario_of(Shape shape, npb::ProblemClass problem_class);

RoadNetwork make_roads(const Scenario& scenario);

// Junctions that trips end at.
std::vector<Index> make_zones(const Scenario& scenario, const RoadNetwork& roads);

struct Trip {
  Index agent = 0;
  Index origin = 0;  // junction
  Index zone = 0;    // into what `make_zones` returned
  int departure_step = 0;
};

// Junction.
Index origin_of(Index agent, const Scenario& scenario, const RoadNetwork& roads);
Trip trip_of(Index agent, const Scenario& scenario, const RoadNetwork& roads,
             const std::vector<Index>& zones);

}  // namespace crosscut::traffic
