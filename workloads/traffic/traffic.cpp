// Traffic in a region that ranks share: an application of many small messages between neighbours, whose speed
// is bounded by the network's latency (Cetin and Nagel 2002; Cetin, Burri and Nagel 2002).
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "program/application.hpp"
#include "traffic/scenario.hpp"
#include "traffic/simulation.hpp"

namespace crosscut::traffic {
namespace {

using npb::Figure;
using npb::Outcome;
using program::Application;

// Each zone has a byte for each junction, on every rank.
constexpr std::int64_t most_route_bytes = std::int64_t{1} << 32;

// Folds to what a double holds exactly and a person can read. The fold of an exclusive or is the exclusive or
// of the folds.
constexpr std::uint64_t folded(std::uint64_t checksum) {
  constexpr int bits = 40;
  return (checksum ^ (checksum >> bits)) & ((std::uint64_t{1} << bits) - 1);
}

// Checksums of the classes as they are; 0: not recorded. The model is in whole numbers and its chance comes
// from the seed, so every machine and every number of ranks must find the same. Recorded from one rank;
// workloads/tests holds the model against another one, written plainly.
std::uint64_t known_checksum(Shape shape, npb::ProblemClass problem_class) {
  constexpr npb::PerClass<std::uint64_t> everyday{{274'962'773'629, 380'619'904'868, 269'600'589'443, 0, 0}};
  constexpr npb::PerClass<std::uint64_t> bottleneck{
      {254'395'350, 747'061'110'847, 676'422'594'573, 251'426'191'828, 0}};
  return (shape == Shape::everyday ? everyday : bottleneck)[problem_class];
}

double mean_of(Communicator& world, double value) { return world.sum(value) / world.size(); }

// The mean by the most: 1 where all have as much.
double balance_of(Communicator& world, double value) {
  const double most = world.most(value);
  return most > 0 ? mean_of(world, value) / most : 1;
}

Tally sum_of(Communicator& world, const Tally& tally) {
  return {.parked = world.sum(tally.parked),
          .driving = world.sum(tally.driving),
          .arrived = world.sum(tally.arrived),
          .moves = world.sum(tally.moves),
          .travel_steps = world.sum(tally.travel_steps)};
}

std::string size_text(const Scenario& scenario) {
  return std::string(scenario.name()) + ", " + std::to_string(scenario.agents) + " agents, " +
         std::to_string(scenario.columns) + " x " + std::to_string(scenario.rows) + " junctions, " +
         std::to_string(scenario.steps) + " s";
}

std::vector<Figure> figures(Communicator& world, const Scenario& scenario, const Measured& measured,
                            const Tally& tally, std::uint64_t checksum) {
  const double steps_per_second = scenario.steps / world.most(measured.seconds);
  const auto messages = static_cast<double>(world.sum(measured.messages));
  const auto bytes = static_cast<double>(world.sum(measured.bytes));
  const auto neighbours = static_cast<double>(measured.neighbours);
  const double computing_seconds = measured.seconds - measured.communication_seconds;
  const auto arrived = static_cast<double>(tally.arrived);
  return {// The same number while a step is a second; the first is what the papers give.
          {"real-time ratio", steps_per_second * step_seconds, "x"},
          {"steps", steps_per_second, "1/s"},
          {"messages a step", messages / scenario.steps, ""},
          {"bytes a step", bytes / scenario.steps, "B"},
          {"mean message", messages > 0 ? bytes / messages : 0, "B"},
          {"largest message", world.most(static_cast<double>(measured.largest_bytes)), "B"},
          {"neighbours, mean", mean_of(world, neighbours), ""},
          {"neighbours, most", world.most(neighbours), ""},
          {"computing, balance", balance_of(world, computing_seconds), "share"},
          {"moves, balance", balance_of(world, static_cast<double>(measured.tally.moves)), "share"},
          {"agents arrived", arrived, ""},
          {"agents driving", static_cast<double>(tally.driving), ""},
          {"agents waiting", static_cast<double>(tally.parked), ""},
          {"mean travel time", arrived > 0 ? static_cast<double>(tally.travel_steps) / arrived : 0, "s"},
          {"checksum", static_cast<double>(checksum), ""}};
}

class Traffic final : public Application {
 public:
  npb::About about() const override {
    return {.name = "traffic",
            .title = "Traffic by the queue model: vehicles on their routes through a region that ranks share",
            .operation = "vehicles moved from link to link"};
  }
  void preset(npb::ProblemClass problem_class) override { class_ = problem_class; }

  void declare(program::Arguments& arguments) override {
    arguments.choice(
        "--scenario", shape_names, shape_,
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

  std::string unsuitable(int ranks) const override {
    const Scenario wanted = scenario();
    const std::int64_t junctions = std::int64_t{wanted.columns} * wanted.rows;
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

  Outcome run(Communicator& world) override {
    const Scenario scenario = this->scenario();
    const Measured measured = simulate(world, scenario);
    const Tally tally = sum_of(world, measured.tally);
    const std::uint64_t checksum = folded(static_cast<std::uint64_t>(
        world.all_reduce_value(static_cast<std::int64_t>(measured.checksum), MPI_BXOR)));
    const std::int64_t split_links = world.sum(measured.links_in);
    Outcome outcome;
    outcome.seconds = measured.seconds;
    outcome.communication_seconds = measured.communication_seconds;
    outcome.iterations = scenario.steps;
    outcome.million_operations = 1e-6 * static_cast<double>(tally.moves);
    outcome.size = size_text(scenario);
    outcome.layout = world.size() == 1 ? "one region" : std::to_string(split_links) + " links between ranks";
    outcome.figures = figures(world, scenario, measured, tally, checksum);
    outcome.checks = checks(scenario, tally, checksum);
    return outcome;
  }

 private:
  Scenario scenario() const {
    const auto given = [](std::int64_t asked, auto& value) {
      if (asked >= 0) value = static_cast<std::remove_reference_t<decltype(value)>>(asked);
    };
    Scenario scenario = scenario_of(shape_, class_);
    given(columns_, scenario.columns);
    given(rows_, scenario.rows);
    given(agents_, scenario.agents);
    given(steps_, scenario.steps);
    given(zones_, scenario.zones);
    given(seed_, scenario.seed);
    return scenario;
  }

  std::vector<npb::Check> checks(const Scenario& scenario, const Tally& tally, std::uint64_t checksum) const {
    std::vector<npb::Check> found;
    found.push_back({.name = "the number of agents",
                     .computed = static_cast<double>(tally.parked + tally.driving + tally.arrived),
                     .published = static_cast<double>(scenario.agents),
                     .origin = "in the beginning it"});
    // The checksum is that of the class's own scenario.
    const std::uint64_t known = known_checksum(scenario.shape, class_);
    if (known != 0 && scenario == scenario_of(shape_, class_))
      found.push_back({.name = "the checksum of all agents",
                       .computed = static_cast<double>(checksum),
                       .published = static_cast<double>(known),
                       .origin = "of this class it"});
    return found;
  }

  static constexpr std::int64_t as_the_class = -1;

  npb::ProblemClass class_ = npb::ProblemClass::S;
  Shape shape_ = Shape::everyday;
  std::int64_t columns_ = as_the_class, rows_ = as_the_class, agents_ = as_the_class, steps_ = as_the_class,
               zones_ = as_the_class, seed_ = as_the_class;
};

}  // namespace
}  // namespace crosscut::traffic

std::unique_ptr<crosscut::program::Application> crosscut::program::make_application() {
  return std::make_unique<traffic::Traffic>();
}
