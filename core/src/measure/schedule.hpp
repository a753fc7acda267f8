// One rank's operations of one phase, made ready to run without thinking: dependencies counted, memory
// assigned, the operations whose times matter marked.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "measure/transport.hpp"
#include "program/program.hpp"

namespace crosscut::measure {

struct Buffers {
  std::span<std::byte> send, receive;
  // Verification: every receive of a phase has memory of its own, from here; empty otherwise.
  std::span<std::byte> apart;
};

struct Schedule {
  std::int64_t phase = 0;
  std::vector<program::Op> ops;
  std::vector<std::byte*> data;               // [op]
  std::vector<std::uint8_t> wants_posted;     // [op] some sample starts when it is posted
  std::vector<std::int32_t> waits_for;        // [op] number of operations it comes after
  std::vector<std::int32_t> first_dependent;  // [op + 1] into `dependents`
  std::vector<program::OpIndex> dependents;
  std::vector<program::OpIndex> roots;  // may start with the phase, in program order
  bool linear = false;                  // each operation comes after the one before: nothing overlaps
  bool skipped = false;                 // something was left out because a rank is lost
};

// `lost` is sorted. Operations that cannot run without a lost rank are left out, on all ranks alike: those
// with it, those that come after them, and the other ends of those.
Schedule make_schedule(const program::Pattern& pattern, Rank rank, Rank ranks, std::int64_t bytes,
                       std::int64_t phase, std::span<const Rank> lost);

// Bytes of `Buffers::apart` that verifying a schedule takes.
std::size_t bytes_apart(const Schedule& schedule);

// Fills `data`. The buffers are as large as the pattern's extent says, `apart` empty or as bytes_apart()
// says.
void assign_memory(Schedule& schedule, const Buffers& buffers);

// The connections that schedules use; sorted, each once.
std::vector<ConnectionId> connections_of(std::span<const Schedule> schedules);

}  // namespace crosscut::measure
