#include "traffic/settings.hpp"

namespace crosscut::traffic {

namespace {

// Each zone has a byte for each junction, on every rank.
constexpr std::int64_t most_route_bytes = std::int64_t{1} << 32;

std::int64_t junctions_of(const Scenario& scenario) { return std::int64_t{scenario.columns} * scenario.rows; }

template <typename Number>
void set_if_given(Number& value, std::int64_t given) {
  if (given >= 0) value = static_cast<Number>(given);
}

}  // namespace

void Settings::declare(program::Arguments& arguments) {
  arguments.choice("--scenario", shape_names, shape_,
                   "many drive from anywhere to anywhere, or few, all to one place, across a ridge with one "
                   "road; everyday without it");
  arguments.whole("--columns", "N", columns_, {4, 4096}, "junctions from west to east");
  arguments.whole("--rows", "N", rows_, {2, 4096}, "junctions from south to north");
  arguments.whole("--agents", "N", agents_, {0, 1'000'000'000}, "how many drive somewhere");
  arguments.whole("--steps", "N", steps_, {1, 86'400}, "of a second each");
  arguments.whole("--zones", "N", zones_, {1, 65'536}, "junctions that trips end at; the bottleneck has 1");
  arguments.whole("--seed", "N", seed_, {0, std::int64_t{1} << 53},
                  "of roads, trips and chance at junctions; 1 without it");
}

Scenario Settings::scenario() const {
  Scenario scenario = scenario_of(shape_, class_);
  set_if_given(scenario.columns, columns_);
  set_if_given(scenario.rows, rows_);
  set_if_given(scenario.agents, agents_);
  set_if_given(scenario.steps, steps_);
  set_if_given(scenario.zones, zones_);
  set_if_given(scenario.seed, seed_);
  return scenario;
}

bool Settings::is_of_class() const { return scenario() == scenario_of(shape_, class_); }

std::string Settings::unsuitable(int ranks) const {
  const Scenario wanted = scenario();
  const std::int64_t junctions = junctions_of(wanted);
  if (wanted.shape == Shape::bottleneck && wanted.zones != 1)
    return "--zones " + std::to_string(wanted.zones) + ": in the bottleneck all go to one place";
  if (junctions * wanted.zones > most_route_bytes)
    return std::to_string(wanted.zones) + " zones among " + std::to_string(junctions) +
           " junctions: their routes take more than 4 GiB on each rank; lower --zones";
  if (ranks > junctions)
    return std::to_string(ranks) + " ranks: there are " + std::to_string(junctions) +
           " junctions, and each rank needs one";
  return "";
}

}  // namespace crosscut::traffic
