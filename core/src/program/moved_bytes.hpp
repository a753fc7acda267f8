// How much the busiest rank of a phase has to move: what the rate of a phase is the rate of.
#pragma once

#include "program/program.hpp"

namespace crosscut::program {

// Bytes that the busiest rank sends or receives in samples, whichever is more.
std::int64_t most_moved_bytes(const Phase& phase, Rank ranks);

}  // namespace crosscut::program
