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

// Returns an empty string, or the first mistake found, with phase, rank and operation. Checks:
//
// - Every operation lies within the extent, names another rank that `peers` names, and refers to earlier
//   operations only. Slots of a rank are different. peers() is sorted and symmetric.
// - On each lane (source, destination, channel, rail) there are as many sends as receives; the n-th send and
//   receive agree in bytes, offset and owner of the data, so a receiver knows what to expect (verification).
// - Operations on one lane cannot become ready out of program order: posting ready operations, the lowest
//   index first, matches the n-th send with the n-th receive (MPI).
// - Receives that may be posted at the same time do not overlap in the buffer; a forward comes after the
//   receive of its data.
// - With sends that complete only when matched (rendezvous), and ready operations posted in random order,
//   every program completes.
// - phase(i) is the same each time, whatever was requested before.
std::string check_program(const Pattern& pattern, Rank ranks, std::int64_t bytes,
                          const ProgramCheck& check = {});

}  // namespace crosscut::program
