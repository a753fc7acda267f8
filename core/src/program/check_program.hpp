// Checks the properties that every pattern must have, for given ranks and message size. Tests and fuzzers use
// it; the code that runs programs may rely on these properties.
#pragma once

#include <cstdint>
#include <string>

#include "program/program.hpp"

namespace crosscut::program {

struct ProgramCheck {
  std::uint64_t seed = 1;           // order in which ready operations are posted
  std::int64_t most_phases = 1000;  // if there are more, this many are checked, evenly spread
};

// Returns an empty string, or the first violation with phase, rank and operation.
//
// - Every operation lies within the extent, names another rank that `peers` lists, and refers to earlier
//   operations only. No two operations of a rank share a slot. peers() is sorted and symmetric.
// - Each lane (source, destination, channel, rail) has as many sends as receives. The n-th send and the n-th
//   receive agree in bytes, in offset and in whose data they move, so a receiver can verify the data.
// - Operations on one lane cannot become ready out of program order: posting ready operations, lowest index
//   first, matches the n-th send with the n-th receive (MPI).
// - Receives that may be posted at the same time do not overlap in the buffer. A forward comes after the
//   receive that it forwards.
// - Every program completes if sends complete only when matched (rendezvous) and ready operations are posted
//   in random order.
// - phase(i) is the same each time, whatever was requested before.
std::string check_program(const Pattern& pattern, Rank ranks, std::int64_t bytes,
                          const ProgramCheck& check = {});

}  // namespace crosscut::program
