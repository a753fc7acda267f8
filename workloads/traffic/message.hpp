// What neighbours tell one another in a step, as whole numbers: for each link that leads to the sender, how
// many vehicles left it (so much room is there again), and then the vehicles that drove onto links to the
// receiver: which link, agent, departure, and the rest of the plan behind its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traffic/vehicles.hpp"

namespace crosscut::traffic {

// Vehicles on their way to one neighbour.
class Departures {
 public:
  // `place`: of the link that it drives onto, in the list of those between the two.
  void add(Index place, const Vehicle& vehicle);
  void clear() { numbers_.clear(); }
  void append_to(std::vector<std::int32_t>& message) const;

  // That a vehicle with so many links ahead of it takes.
  static std::size_t numbers(std::size_t links) { return 4 + links; }

 private:
  std::vector<std::int32_t> numbers_;
};

// Every function throws std::runtime_error where the message has not what is expected.
class MessageReader {
 public:
  MessageReader(std::span<const std::int32_t> message, int rank, int step)
      : rest_(message), rank_(rank), step_(step) {}

  bool at_end() const { return rest_.empty(); }
  // From 0 on.
  std::int32_t count();
  std::size_t below(std::size_t bound);
  // Its plan is of links below `links`.
  Vehicle vehicle(std::size_t links);
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::int32_t next();

  std::span<const std::int32_t> rest_;
  int rank_, step_;
};

}  // namespace crosscut::traffic
