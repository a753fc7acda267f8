#include "npb/common/benchmark.hpp"

#include <bit>
#include <cmath>

namespace crosscut::npb {

double Check::error() const {
  const double difference = std::abs(computed - published);
  return published == 0 ? difference : difference / std::abs(published);
}

TimedSection::TimedSection(Communicator& world) : world_(world) {
  world.barrier();
  communication_before_seconds_ = world.seconds();
  begin_seconds_ = MPI_Wtime();
}

void TimedSection::stop(Outcome& outcome) const {
  outcome.seconds = MPI_Wtime() - begin_seconds_;
  outcome.communication_seconds = world_.seconds() - communication_before_seconds_;
}

std::string not_a_power_of_two(int ranks) {
  const auto below = std::bit_floor(static_cast<unsigned>(ranks));
  return std::to_string(ranks) + " ranks: it takes a power of two, such as " + std::to_string(below) +
         " or " + std::to_string(2 * below);
}

}  // namespace crosscut::npb
