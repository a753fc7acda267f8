// Assigns ranks to roles, computing or serving, and to processors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data-server/settings.hpp"
#include "program/application.hpp"
#include "program/processors.hpp"

namespace crosscut::data_server {

using npb::Communicator;

class Roles {
 public:
  Roles(int ranks, Arrangement arrangement) : pairs_(ranks / 2), arrangement_(arrangement) {}

  int pairs() const { return pairs_; }
  bool serves(int rank) const { return arrangement_ == Arrangement::pairs ? rank % 2 == 1 : rank >= pairs_; }
  // Returns a rank's number within its role: computing process k and server k are a pair.
  int index(int rank) const { return arrangement_ == Arrangement::pairs ? rank / 2 : rank % pairs_; }
  int computing_rank(int index) const { return arrangement_ == Arrangement::pairs ? 2 * index : index; }
  int serving_rank(int index) const {
    return arrangement_ == Arrangement::pairs ? 2 * index + 1 : pairs_ + index;
  }

 private:
  int pairs_;
  Arrangement arrangement_;
};

// The machines and processors of all ranks, known to all ranks, so that all draw the same conclusion.
struct Surroundings {
  std::vector<std::uint64_t> machines;
  std::vector<std::int32_t> processors;  // number that each process may use

  std::ptrdiff_t processes_beside(std::size_t rank) const {
    return std::ranges::count(machines, machines[rank]);
  }
  // Counts lower ranks on the same machine and, if requested, in the same role.
  std::size_t before(int rank, const Roles& roles, bool same_role) const {
    std::size_t found = 0;
    for (int other = 0; other < rank; ++other)
      if (machines[static_cast<std::size_t>(other)] == machines[static_cast<std::size_t>(rank)] &&
          (!same_role || roles.serves(other) == roles.serves(rank)))
        ++found;
    return found;
  }
};

inline void refuse_too_few_processors(const Surroundings& around) {
  for (std::size_t rank = 0; rank < around.machines.size(); ++rank)
    if (around.processes_beside(rank) > around.processors[rank])
      throw program::Refusal("--processors matched: " + std::to_string(around.processes_beside(rank)) +
                             " ranks are on a machine where they may use " +
                             std::to_string(around.processors[rank]) +
                             (around.processors[rank] == 1 ? " processor" : " processors") +
                             "; start fewer there, or take --processors overloaded");
}

inline void refuse_parted_pairs(const Surroundings& around, const Roles& roles,
                                std::span<const std::int32_t> taken) {
  for (int pair = 0; pair < roles.pairs(); ++pair) {
    const auto computing = static_cast<std::size_t>(roles.computing_rank(pair));
    const auto serving = static_cast<std::size_t>(roles.serving_rank(pair));
    if (around.machines[computing] != around.machines[serving] || taken[computing] != taken[serving])
      throw program::Refusal("--processors overloaded: rank " + std::to_string(computing) +
                             " and its server, rank " + std::to_string(serving) +
                             ", cannot share a processor; start both on one machine and let the launcher "
                             "bind neither");
  }
}

// Binds each process to its processor if requested; returns a description. Throws Refusal, on all ranks, if
// that is impossible.
inline std::string place(Communicator& world, const Roles& roles, Sharing sharing) {
  if (program::is_simulated()) {
    if (sharing != Sharing::unpinned)
      throw program::Refusal("--processors: where time is simulated every rank has a processor of its own");
    return "a processor for each";
  }
  const auto allowed = program::allowed_processors();
  const Surroundings around{program::machines(world),
                            world.all_gather(static_cast<std::int32_t>(allowed.size()))};
  std::string ratio = std::to_string(around.processes_beside(0)) + " on " +
                      std::to_string(around.processors[0]) + " processors";
  if (sharing == Sharing::unpinned) return ratio;
  const bool matched = sharing == Sharing::matched;
  if (matched) refuse_too_few_processors(around);
  const std::size_t turn = around.before(world.rank(), roles, !matched);
  const int processor = allowed.empty() ? -1 : allowed[turn % allowed.size()];
  if (processor >= 0) program::pin(processor);
  const auto taken = world.all_gather(static_cast<std::int32_t>(processor));
  if (!matched) refuse_parted_pairs(around, roles, taken);
  return ratio + (matched ? ", matched" : ", overloaded");
}

// Throws Refusal, on all ranks, if the servers of a machine lack memory for their columns of both arrays. To
// be called before any is allocated.
inline void refuse_too_large(Communicator& world, const Roles& roles, std::int64_t order) {
  const auto machines = program::machines(world);
  const auto available_bytes = program::available_memory_bytes();
  std::int64_t servers = 0;
  for (int rank = 0; rank < world.size(); ++rank)
    if (roles.serves(rank) &&
        machines[static_cast<std::size_t>(rank)] == machines[static_cast<std::size_t>(world.rank())])
      ++servers;
  const double wanted_bytes = 2.0 * sizeof(double) * static_cast<double>(order) * static_cast<double>(order) *
                              static_cast<double>(servers) / roles.pairs();
  const double missing_bytes =
      available_bytes ? wanted_bytes - static_cast<double>(*available_bytes) : -wanted_bytes;
  if (world.most(missing_bytes) <= 0) return;
  const auto mebibytes =
      static_cast<std::int64_t>(world.most(missing_bytes > 0 ? wanted_bytes : 0) / (1 << 20));
  throw program::Refusal("--array " + std::to_string(order) + ": the servers of a machine would need " +
                         std::to_string(mebibytes) +
                         " MiB, more than it has; take a smaller array or --class, or more machines");
}

}  // namespace crosscut::data_server
