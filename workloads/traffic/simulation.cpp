#include "traffic/simulation.hpp"

#include <algorithm>
#include <tuple>

#include "traffic/region.hpp"
#include "traffic/routes.hpp"

namespace crosscut::traffic {

namespace {

// One message each way between neighbours in each step, as in the model's parallel version (Cetin, Burri and
// Nagel 2002: the time of a step is that of its messages, and what bounds it is their latency).
class Boundary {
 public:
  Boundary(Communicator& world, const Region& region, QueueModel& model)
      : world_(world), region_(region), model_(model), sent_(neighbours()), received_(neighbours()) {
    for (std::size_t i = 0; i < neighbours(); ++i) received_[i].resize(1 + model.most_received(i));
  }

  // Before the step is computed, so that what comes early needs no copy.
  void expect() {
    requests_.clear();
    for (std::size_t i = 0; i < neighbours(); ++i)
      requests_.push_back(world_.receive_later(received_[i], rank(i), tag));
  }

  void exchange(int step, Measured& measured) {
    for (std::size_t i = 0; i < neighbours(); ++i) {
      model_.write(i, numbers_);
      // Its length comes first: a receiver knows no more than the most it can be.
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

  std::size_t neighbours() const { return region_.neighbours().size(); }
  int rank(std::size_t neighbour) const { return region_.neighbours()[neighbour].rank; }

  Communicator& world_;
  const Region& region_;
  QueueModel& model_;
  std::vector<std::int32_t> numbers_;
  std::vector<std::vector<std::int32_t>> sent_, received_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::vector<Trip> trips_in(const Region& region, const Scenario& scenario, const RoadNetwork& roads,
                           const std::vector<Index>& zones) {
  std::vector<Trip> trips;
  for (Index agent = 0; std::cmp_less(agent, scenario.agents); ++agent)
    if (region.junction_place(origin_of(agent, scenario, roads)) != none)
      trips.push_back(trip_of(agent, scenario, roads, zones));
  std::ranges::sort(
      trips, {}, [](const Trip& trip) { return std::tuple(trip.origin, trip.departure_step, trip.agent); });
  return trips;
}

Measured simulate(Communicator& world, const Scenario& scenario) {
  const RoadNetwork roads = make_roads(scenario);
  const std::vector<Index> zones = make_zones(scenario, roads);
  const Routes routes(roads, zones);
  const Region region(roads, bisect(roads, world.size()), world.rank());
  QueueModel model(roads, routes, region, trips_in(region, scenario, roads, zones), scenario.seed);
  Boundary boundary(world, region, model);
  Measured measured{.neighbours = static_cast<std::int64_t>(region.neighbours().size()), .tally = {}};
  for (const Neighbour& neighbour : region.neighbours())
    measured.links_in += static_cast<std::int64_t>(neighbour.inbound.size());
  world.barrier();
  const double communicated_seconds = world.seconds();
  const double begin_seconds = MPI_Wtime();
  for (int step = 0; step < scenario.steps; ++step) {
    boundary.expect();
    model.advance(step);
    boundary.exchange(step, measured);
  }
  measured.seconds = MPI_Wtime() - begin_seconds;
  measured.communication_seconds = world.seconds() - communicated_seconds;
  measured.tally = model.tally();
  measured.checksum = model.checksum();
  return measured;
}

}  // namespace crosscut::traffic
