// The bytes that the busiest rank of a phase moves: the numerator of the phase's rate.
#pragma once

#include "program/program.hpp"

namespace crosscut::program {

// Returns the bytes that the busiest rank sends or receives in samples, whichever is larger.
std::int64_t most_moved_bytes(const Phase& phase, Rank ranks);

}  // namespace crosscut::program
