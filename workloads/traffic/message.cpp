#include "traffic/message.hpp"

#include <stdexcept>

namespace crosscut::traffic {

void Departures::add(Index place, const Vehicle& vehicle) {
  const auto ahead = vehicle.ahead();
  const auto put = [&](auto number) { numbers_.push_back(static_cast<std::int32_t>(number)); };
  put(place);
  put(vehicle.agent);
  put(vehicle.departure_step);
  put(ahead.size());
  for (const Index link : ahead) put(link);
}

void Departures::append_to(std::vector<std::int32_t>& message) const {
  message.insert(message.end(), numbers_.begin(), numbers_.end());
}

std::int32_t MessageReader::next() {
  if (rest_.empty()) fail("it ends too early");
  const std::int32_t number = rest_.front();
  rest_ = rest_.subspan(1);
  return number;
}

std::int32_t MessageReader::count() {
  const std::int32_t number = next();
  if (number < 0) fail(std::to_string(number) + " cannot be a number of things");
  return number;
}

std::size_t MessageReader::below(std::size_t bound) {
  const auto number = static_cast<std::size_t>(count());
  if (number >= bound) fail("link " + std::to_string(number) + " of " + std::to_string(bound));
  return number;
}

Vehicle MessageReader::vehicle(std::size_t links) {
  Vehicle vehicle{.agent = static_cast<Index>(count()), .departure_step = count(), .plan = {}};
  const auto length = static_cast<std::size_t>(count());
  if (length > rest_.size()) fail("a plan of " + std::to_string(length) + " links ends too early");
  vehicle.plan.reserve(length);
  for (std::size_t i = 0; i < length; ++i) vehicle.plan.push_back(static_cast<Index>(below(links)));
  return vehicle;
}

void MessageReader::fail(const std::string& what) const {
  throw std::runtime_error("the message of rank " + std::to_string(rank_) + " in step " +
                           std::to_string(step_) + " makes no sense: " + what);
}

}  // namespace crosscut::traffic
