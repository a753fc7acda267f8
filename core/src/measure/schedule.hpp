// One rank's operations in one phase, prepared so that running them needs no decisions: dependencies are
// counted, memory assigned, timed operations marked.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "measure/transport.hpp"
#include "program/program.hpp"

namespace crosscut::measure {

struct Buffers {
  std::span<std::byte> send, receive;
  // For verification: memory with a separate place for every receive of a phase; otherwise empty.
  std::span<std::byte> apart;
};

struct Schedule {
  std::int64_t phase = 0;
  std::vector<program::Op> ops;
  // What the transport moves: `ops` one by one, each as the messages that it has.
  std::vector<program::Op> messages;
  std::vector<program::OpIndex> first_message;  // [op + 1] into `messages`
  std::vector<program::OpIndex> op_of;          // [message]
  std::vector<std::byte*> data;                 // [message]
  std::vector<std::uint8_t> wants_posted;       // [op] 1: a sample starts when it is posted
  std::vector<std::int32_t> waits_for;          // [op] operations that must complete first
  std::vector<std::int32_t> first_dependent;    // [op + 1] into `dependents`
  std::vector<program::OpIndex> dependents;
  std::vector<program::OpIndex> roots;  // operations that start with the phase, in program order
  bool linear = false;                  // each message waits for the previous one: none overlap
  bool skipped = false;                 // an operation was left out because a rank is lost
};

// Makes a schedule; `lost` must be sorted. Leaves out the same operations on all ranks: those with a lost
// rank, those that wait for them, and the matching operations of their peers.
Schedule make_schedule(const program::Pattern& pattern, Rank rank, Rank ranks, std::int64_t bytes,
                       std::int64_t phase, std::span<const Rank> lost);

// Returns the bytes of `Buffers::apart` needed to verify a schedule.
std::size_t bytes_apart(const Schedule& schedule);

// Fills `data`. The buffers have the sizes of the pattern's extent; `apart` is empty or has bytes_apart()
// bytes.
void assign_memory(Schedule& schedule, const Buffers& buffers);

// Returns the connections that schedules use; sorted, without duplicates.
std::vector<ConnectionId> connections_of(std::span<const Schedule> schedules);

// Returns the connections that a rank uses in all phases of a pattern; sorted, without duplicates.
std::vector<ConnectionId> connections_of(const program::Pattern& pattern, Rank rank, Rank ranks,
                                         std::int64_t bytes);

}  // namespace crosscut::measure
