// Traffic in a region that ranks share: an application with many small messages between neighbours, whose
// speed the network's latency limits (Cetin and Nagel 2002; Cetin, Burri and Nagel 2002).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "program/application.hpp"
#include "traffic/queue_model.hpp"
#include "traffic/region.hpp"
#include "traffic/routes.hpp"
#include "traffic/scenario.hpp"

namespace crosscut::traffic {
namespace {

using npb::Communicator;
using npb::Figure;
using npb::Outcome;
using program::Application;

// Routes take one byte per zone and junction, on every rank.
constexpr std::int64_t most_route_bytes = std::int64_t{1} << 32;

// One rank's measurements.
struct Measured {
  Outcome outcome;  // its times
  std::int64_t neighbours = 0;
  std::int64_t links_in = 0;  // from other ranks
  std::int64_t messages = 0;  // sent
  std::int64_t bytes = 0;
  std::int64_t largest_bytes = 0;
  Tally tally;
  std::uint64_t checksum = 0;
};

// Neighbours exchange one message in each direction per step, as in the model's parallel version (Cetin,
// Burri and Nagel 2002: the time of a step is that of its messages, limited by their latency).
class Boundary {
 public:
  Boundary(Communicator& world, const Region& region, QueueModel& model)
      : world_(world), region_(region), model_(model), sent_(neighbours()), received_(neighbours()) {
    for (std::size_t i = 0; i < neighbours(); ++i) received_[i].resize(1 + model.most_received(i));
  }

  // Posts receives before the step is computed, so that early messages need no copy.
  void expect() {
    requests_.clear();
    for (std::size_t i = 0; i < neighbours(); ++i)
      requests_.push_back(world_.receive_later(received_[i], rank(i), tag));
  }

  void exchange(int step, Measured& measured) {
    for (std::size_t i = 0; i < neighbours(); ++i) {
      model_.write(i, numbers_);
      // The length comes first: the receiver only knows its upper bound.
      sent_[i].assign(1, static_cast<std::int32_t>(numbers_.size()));
      sent_[i].insert(sent_[i].end(), numbers_.begin(), numbers_.end());
      requests_.push_back(world_.send_later(sent_[i], rank(i), tag));
      const auto bytes = static_cast<std::int64_t>(sent_[i].size() * sizeof(std::int32_t));
      ++measured.messages;
      measured.bytes += bytes;
      measured.largest_bytes = std::max(measured.largest_bytes, bytes);
    }
    world_.wait_all(requests_);
    for (std::size_t i = 0; i < neighbours(); ++i) {
      const auto length = static_cast<std::size_t>(received_[i].front());
      const auto rest = std::span(received_[i]).subspan(1);
      model_.read(i, rest.first(std::min(length, rest.size())), step);
    }
  }

 private:
  static constexpr int tag = 1;

  std::size_t neighbours() const { return region_.neighbours.size(); }
  int rank(std::size_t neighbour) const { return region_.neighbours[neighbour].rank; }

  Communicator& world_;
  const Region& region_;
  QueueModel& model_;
  std::vector<std::int32_t> numbers_;
  std::vector<std::vector<std::int32_t>> sent_, received_;
  std::vector<MPI_Request> requests_;
};

// Returns the trips that begin in the region, sorted as QueueModel expects.
std::vector<Trip> trips_in(const Region& region, const Scenario& scenario, const RoadNetwork& roads,
                           const std::vector<Index>& zones) {
  std::vector<Trip> trips;
  for (Index agent = 0; std::cmp_less(agent, scenario.agents); ++agent)
    if (region.junction_places[origin_of(agent, scenario, roads)] != none)
      trips.push_back(trip_of(agent, scenario, roads, zones));
  std::ranges::sort(
      trips, {}, [](const Trip& trip) { return std::tuple(trip.origin, trip.departure_step, trip.agent); });
  return trips;
}

// Runs a scenario on all ranks: divides the roads, exchanges boundaries, and measures the time. Collective.
Measured simulate(Communicator& world, const Scenario& scenario) {
  const RoadNetwork roads = make_roads(scenario);
  const std::vector<Index> zones = make_zones(scenario, roads);
  const Routes routes(roads, zones);
  const Region region(roads, bisect(roads, world.size()), world.rank());
  QueueModel model(roads, routes, region, trips_in(region, scenario, roads, zones), scenario.seed);
  Boundary boundary(world, region, model);
  Measured measured{
      .outcome = {}, .neighbours = static_cast<std::int64_t>(region.neighbours.size()), .tally = {}};
  for (const Neighbour& neighbour : region.neighbours)
    measured.links_in += static_cast<std::int64_t>(neighbour.inbound.size());
  measured.outcome = npb::timed(world, [&] {
    for (int step = 0; step < scenario.steps; ++step) {
      boundary.expect();
      model.advance(step);
      boundary.exchange(step, measured);
    }
  });
  measured.tally = model.tally();
  measured.checksum = model.checksum();
  return measured;
}

// Folds a checksum so that a double holds it exactly and a person can read it. Folding commutes with
// exclusive or.
constexpr std::uint64_t folded(std::uint64_t checksum) {
  constexpr int bits = 40;
  return (checksum ^ (checksum >> bits)) & ((std::uint64_t{1} << bits) - 1);
}

// Returns the checksum of an unmodified class; 0: not recorded. The model uses whole numbers and a seed, so
// every machine and every number of ranks must find the same value. Recorded with one rank; workloads/tests
// compares the model with a second, plainly written one.
std::uint64_t known_checksum(Shape shape, npb::ProblemClass problem_class) {
  constexpr npb::PerClass<std::uint64_t> everyday{{274'962'773'629, 380'619'904'868, 269'600'589'443, 0, 0}};
  constexpr npb::PerClass<std::uint64_t> bottleneck{
      {254'395'350, 747'061'110'847, 676'422'594'573, 251'426'191'828, 0}};
  return (shape == Shape::everyday ? everyday : bottleneck)[problem_class];
}

double mean_of(Communicator& world, double value) { return world.sum(value) / world.size(); }

// Returns the mean over the maximum: 1 if all ranks have the same value.
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
         npb::product_text(scenario.columns, scenario.rows) + " junctions, " +
         std::to_string(scenario.steps) + " s";
}

std::vector<Figure> figures(Communicator& world, const Scenario& scenario, const Measured& measured,
                            const Tally& tally, std::uint64_t checksum) {
  const double steps_per_second = scenario.steps / world.most(measured.outcome.seconds);
  const auto messages = static_cast<double>(world.sum(measured.messages));
  const auto bytes = static_cast<double>(world.sum(measured.bytes));
  const auto neighbours = static_cast<double>(measured.neighbours);
  const double computing_seconds = measured.outcome.seconds - measured.outcome.communication_seconds;
  const auto arrived = static_cast<double>(tally.arrived);
  return {// The two are equal while a step is a second; papers give the first.
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
        "many vehicles from anywhere to anywhere (everyday, the default), or few, all to one place across a "
        "ridge with one road (bottleneck)");
    arguments.whole("--columns", "N", columns_, {4, 4096}, "junctions from west to east");
    arguments.whole("--rows", "N", rows_, {2, 4096}, "junctions from south to north");
    arguments.whole("--agents", "N", agents_, {0, 1'000'000'000}, "vehicles");
    arguments.whole("--steps", "N", steps_, {1, 86'400}, "simulated steps, of a second each");
    arguments.whole("--zones", "N", zones_, {1, 65'536}, "junctions where trips end (1 in the bottleneck)");
    arguments.whole("--seed", "N", seed_, {0, std::int64_t{1} << 53},
                    "for roads, trips and chance at junctions (1)");
  }

  std::string unsuitable(int ranks) const override {
    const Scenario wanted = scenario();
    const std::int64_t junctions = std::int64_t{wanted.columns} * wanted.rows;
    if (wanted.shape == Shape::bottleneck && wanted.zones != 1)
      return "--zones " + std::to_string(wanted.zones) + ": in the bottleneck all trips end at one place";
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
    Outcome outcome = measured.outcome;
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
                       .origin = "the class's"});
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
