#include "traffic/queue_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace crosscut::traffic {

namespace {

// Vehicles that start beside the road get the right of way of a small road: at most one per step, with this
// weight in the junction's draw.
constexpr std::int32_t parking_vehicles_per_hour = 800;

std::uint64_t fingerprint(std::uint64_t kind, std::uint64_t agent, std::uint64_t where, std::uint64_t when) {
  return mix(mix(mix(mix(kind) ^ agent) ^ where) ^ when);
}

// A message between neighbours in a step, in whole numbers: for each link that leads to the sender, the
// number of vehicles that left it, which frees as much room; then the vehicles that drove onto links to the
// receiver. A vehicle is its link's index in the list of links between the two, then agent, departure, length
// of the remaining plan, and that plan.
constexpr std::size_t numbers_before_plan = 4;

void put_vehicle(Index place, const Vehicle& vehicle, std::vector<std::int32_t>& message) {
  const auto ahead = vehicle.ahead();
  message.insert(message.end(), {static_cast<std::int32_t>(place), static_cast<std::int32_t>(vehicle.agent),
                                 vehicle.departure_step, static_cast<std::int32_t>(ahead.size())});
  message.insert(message.end(), ahead.begin(), ahead.end());
}

// Reads a message. All functions throw std::runtime_error if the message is not as expected.
class MessageReader {
 public:
  MessageReader(std::span<const std::int32_t> message, int rank, int step)
      : rest_(message), rank_(rank), step_(step) {}

  bool at_end() const { return rest_.empty(); }
  // Reads a number that must not be negative.
  std::int32_t count() {
    const std::int32_t number = next();
    if (number < 0) fail(std::to_string(number) + " cannot be a count");
    return number;
  }

  std::size_t below(std::size_t bound) {
    const auto number = static_cast<std::size_t>(count());
    if (number >= bound) fail("link " + std::to_string(number) + " of " + std::to_string(bound));
    return number;
  }

  // Reads a vehicle whose plan has links below `links`.
  Vehicle vehicle(std::size_t links) {
    Vehicle vehicle{.agent = static_cast<Index>(count()), .departure_step = count(), .plan = {}};
    const auto length = static_cast<std::size_t>(count());
    if (length > rest_.size()) fail("a plan of " + std::to_string(length) + " links ends too early");
    vehicle.plan.reserve(length);
    for (std::size_t i = 0; i < length; ++i) vehicle.plan.push_back(static_cast<Index>(below(links)));
    return vehicle;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("the message of rank " + std::to_string(rank_) + " in step " +
                             std::to_string(step_) + " makes no sense: " + what);
  }

 private:
  std::int32_t next() {
    if (rest_.empty()) fail("it ends too early");
    const std::int32_t number = rest_.front();
    rest_ = rest_.subspan(1);
    return number;
  }

  std::span<const std::int32_t> rest_;
  int rank_, step_;
};

}  // namespace

QueueModel::QueueModel(const RoadNetwork& roads, const Routes& routes, const Region& region,
                       std::vector<Trip> trips, std::uint64_t seed)
    : roads_(roads),
      routes_(routes),
      region_(region),
      trips_(std::move(trips)),
      random_(seed),
      queues_(region.own_links()),
      room_(region.numbers.size()),
      parking_(region.junctions.size()),
      buffered_(region.junctions.size()),
      departed_(region.neighbours.size()),
      way_out_(region.numbers.size() - region.own_links()) {
  for (Index place = 0; place < region.numbers.size(); ++place) {
    const Link& link = roads.links[region.numbers[place]];
    limits_.push_back({.free_flow_steps = link.free_flow_steps(),
                       .storage = link.storage(),
                       .buffer = link.buffer(),
                       .vehicles_per_hour = link.vehicles_per_hour});
    room_[place] = link.storage();
  }
  for (std::size_t at = 0; at < region.junctions.size(); ++at)
    junction_of_.resize(region.begin[at + 1], static_cast<Index>(at));
  for (std::uint32_t i = 0; i < trips_.size(); ++i) {
    Parking& parking = parking_[region.junction_places[trips_[i].origin]];
    if (parking.end == 0) parking.next = i;
    parking.end = i + 1;
  }
  for (Index i = 0; i < region.neighbours.size(); ++i) {
    const auto& outbound = region.neighbours[i].outbound;
    for (Index j = 0; j < outbound.size(); ++j) way_out_[outbound[j] - region.own_links()] = {i, j};
  }
}

void QueueModel::advance(int step) {
  for (const Index link : left_) queues_[link].left = 0;
  left_.clear();
  for (auto& vehicles : departed_) vehicles.clear();
  for (Index link = 0; link < queues_.size(); ++link)
    if (queues_[link].ready_step <= step) fill_buffer(link, step);
  for (std::size_t at = 0; at < parking_.size(); ++at)
    if (buffered_[at] > 0 ||
        (parking_[at].next < parking_[at].end && trips_[parking_[at].next].departure_step <= step))
      serve_junction(at, step);
  // Frees room on this region's links; ranks at their other ends learn of it by message.
  for (const Index link : left_) room_[link] += queues_[link].left;
}

// "N < C or (N = C and rnd < f)": C is the whole number of vehicles per step, f the fraction (Cetin, Burri
// and Nagel).
void QueueModel::fill_buffer(Index link, int step) {
  Queue& queue = queues_[link];
  const Limits& limits = limits_[link];
  if (queue.in_buffer == limits.buffer) return;
  std::int32_t allowed = limits.vehicles_per_hour / seconds_per_hour;
  const std::int32_t rest = limits.vehicles_per_hour % seconds_per_hour;
  if (random_.below(seconds_per_hour, Purpose::capacity, region_.numbers[link], step) < rest) ++allowed;
  while (allowed > 0 && queue.ready_step <= step && queue.in_buffer < limits.buffer) {
    const Index behind = vehicles_[queue.first_not_in_buffer].behind;
    queue.first_not_in_buffer = behind;
    queue.ready_step = behind == none ? never : vehicles_[behind].ready_step;
    ++queue.in_buffer;
    ++buffered_[junction_of_[link]];
    --allowed;
  }
}

// Draws links in proportion to their capacities; each then sends vehicles until one finds no room. So links
// share scarce room in proportion, too.
void QueueModel::serve_junction(std::size_t at, int step) {
  candidates_.clear();
  std::int64_t weights = 0;
  for (Index link = region_.begin[at]; link < region_.begin[at + 1]; ++link)
    if (queues_[link].in_buffer > 0) candidates_.push_back({link, limits_[link].vehicles_per_hour});
  const Parking& parking = parking_[at];
  if (parking.next < parking.end && trips_[parking.next].departure_step <= step)
    candidates_.push_back({none, parking_vehicles_per_hour});
  for (const Candidate& candidate : candidates_) weights += candidate.weight;
  constexpr std::int64_t most_draws = 1 << 10;
  for (std::int64_t draw = 0; !candidates_.empty(); ++draw) {
    std::int64_t drawn =
        random_.below(weights, Purpose::turn, region_.junctions[at], step * most_draws + draw);
    auto chosen = candidates_.begin();
    while (drawn >= chosen->weight) drawn -= (chosen++)->weight;
    if (chosen->link == none)
      serve_parking(at, step);
    else
      serve_link(chosen->link, step);
    weights -= chosen->weight;
    candidates_.erase(chosen);
  }
}

void QueueModel::serve_link(Index link, int step) {
  const Queue& queue = queues_[link];
  while (queue.in_buffer > 0) {
    const auto ahead = vehicles_[queue.first].ahead();
    const Index next = ahead.empty() ? none : region_.places[ahead.front()];
    if (next != none && !has_room(next)) return;
    const Index vehicle = take_first(link);
    ++moves_;
    if (next == none)
      arrive(vehicles_.remove(vehicle), step);
    else
      enter(next, vehicle, step);
  }
}

void QueueModel::serve_parking(std::size_t at, int step) {
  const Trip& trip = trips_[parking_[at].next];
  const Index first = routes_.next_link(trip.origin, trip.zone);
  if (first != none && !has_room(region_.places[first])) return;
  ++parking_[at].next;
  ++moves_;
  Vehicle vehicle{.agent = trip.agent, .departure_step = trip.departure_step, .plan = {}};
  if (first == none) return arrive(vehicle, step);
  routes_.append_plan(trip.origin, trip.zone, vehicle.plan);
  enter(region_.places[first], vehicles_.add(std::move(vehicle)), step);
}

void QueueModel::arrive(const Vehicle& vehicle, int step) {
  ++arrived_;
  travel_steps_ += step - vehicle.departure_step;
  arrivals_checksum_ ^= fingerprint(0, vehicle.agent, 0, static_cast<std::uint64_t>(step));
}

void QueueModel::enter(Index link, Index vehicle, int step) {
  --room_[link];
  ++vehicles_[vehicle].followed;
  if (link < queues_.size()) return append(link, vehicle, step);
  const auto [neighbour, place] = way_out_[link - queues_.size()];
  put_vehicle(place, vehicles_.remove(vehicle), departed_[neighbour]);
}

void QueueModel::append(Index link, Index place, int step) {
  Queue& queue = queues_[link];
  if (queue.vehicles >= limits_[link].storage)
    throw std::logic_error("link " + std::to_string(region_.numbers[link]) + " has room for " +
                           std::to_string(limits_[link].storage) + " vehicles, and one more drove onto it");
  Vehicle& vehicle = vehicles_[place];
  vehicle.ready_step = step + limits_[link].free_flow_steps;
  vehicle.behind = none;
  if (queue.last != none) vehicles_[queue.last].behind = place;
  if (queue.first == none) queue.first = place;
  queue.last = place;
  if (queue.first_not_in_buffer == none) {
    queue.first_not_in_buffer = place;
    queue.ready_step = vehicle.ready_step;
  }
  ++queue.vehicles;
}

Index QueueModel::take_first(Index link) {
  Queue& queue = queues_[link];
  if (queue.left++ == 0) left_.push_back(link);
  --queue.in_buffer;
  --queue.vehicles;
  --buffered_[junction_of_[link]];
  const Index vehicle = queue.first;
  queue.first = vehicles_[vehicle].behind;
  if (queue.first == none) queue.last = none;
  return vehicle;
}

void QueueModel::write(std::size_t neighbour, std::vector<std::int32_t>& message) {
  message.clear();
  for (const Index link : region_.neighbours[neighbour].inbound) message.push_back(queues_[link].left);
  message.insert(message.end(), departed_[neighbour].begin(), departed_[neighbour].end());
}

void QueueModel::read(std::size_t neighbour, std::span<const std::int32_t> message, int step) {
  const Neighbour& from = region_.neighbours[neighbour];
  MessageReader reader(message, from.rank, step);
  for (const Index link : from.outbound) {
    const std::int32_t left = reader.count();
    room_[link] += left;
    if (room_[link] > limits_[link].storage)
      reader.fail(std::to_string(left) + " vehicles left link " + std::to_string(region_.numbers[link]) +
                  ", which had fewer");
  }
  while (!reader.at_end()) {
    const Index link = from.inbound[reader.below(from.inbound.size())];
    append(link, vehicles_.add(reader.vehicle(roads_.links.size())), step);
  }
}

std::size_t QueueModel::most_received(std::size_t neighbour) const {
  const Neighbour& from = region_.neighbours[neighbour];
  std::size_t most = from.outbound.size();
  for (const Index link : from.inbound) {
    // In a step, no more arrive than leave buffers, plus one from beside the road.
    std::size_t vehicles = 1;
    for (const Index before : roads_.into.of(roads_.links[region_.numbers[link]].from))
      vehicles += static_cast<std::size_t>(roads_.links[before].buffer());
    most += std::min(vehicles, static_cast<std::size_t>(limits_[link].storage)) *
            (numbers_before_plan + static_cast<std::size_t>(routes_.longest()));
  }
  return most;
}

Tally QueueModel::tally() const {
  Tally tally{.arrived = arrived_, .moves = moves_, .travel_steps = travel_steps_};
  for (const Parking& parking : parking_) tally.parked += parking.end - parking.next;
  for (const Queue& queue : queues_) tally.driving += queue.vehicles;
  return tally;
}

std::uint64_t QueueModel::checksum() const {
  std::uint64_t sum = arrivals_checksum_;
  for (std::size_t at = 0; at < parking_.size(); ++at)
    for (std::uint32_t i = parking_[at].next; i < parking_[at].end; ++i)
      sum ^= fingerprint(1, trips_[i].agent, region_.junctions[at], 0);
  for (Index link = 0; link < queues_.size(); ++link)
    for (Index at = queues_[link].first; at != none; at = vehicles_[at].behind)
      sum ^= fingerprint(2, vehicles_[at].agent, region_.numbers[link],
                         static_cast<std::uint64_t>(vehicles_[at].ready_step));
  return sum;
}

std::vector<Index> QueueModel::agents_on(Index link) const {
  std::vector<Index> agents;
  for (Index at = queues_[region_.places[link]].first; at != none; at = vehicles_[at].behind)
    agents.push_back(vehicles_[at].agent);
  return agents;
}

}  // namespace crosscut::traffic
