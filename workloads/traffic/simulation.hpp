// A scenario on all ranks of a communicator: roads shared out, stepped, boundaries exchanged, timed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"
#include "traffic/queue_model.hpp"
#include "traffic/scenario.hpp"

namespace crosscut::traffic {

using npb::Communicator;

// What one rank measured of itself.
struct Measured {
  double seconds = 0;
  double communication_seconds = 0;
  std::int64_t neighbours = 0;
  std::int64_t links_in = 0;  // from other ranks
  std::int64_t messages = 0;  // sent
  std::int64_t bytes = 0;
  std::int64_t largest_bytes = 0;
  Tally tally;
  std::uint64_t checksum = 0;
};

// Trips that begin in the region, sorted as QueueModel wants them.
std::vector<Trip> trips_in(const Region& region, const Scenario& scenario, const RoadNetwork& roads,
                           const std::vector<Index>& zones);

// All ranks call it together.
Measured simulate(Communicator& world, const Scenario& scenario);

}  // namespace crosscut::traffic
