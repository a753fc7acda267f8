// The processors that processes run on, and their memory, as Linux has them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "npb/common/communicator.hpp"

namespace crosscut::program {

using npb::Communicator;

// Whether time is simulated (SMPI): then processors are, too, and have no clock of their own.
bool is_simulated();

// Of this thread, used so far; empty where time is simulated.
std::optional<double> processor_seconds();

// Processors that this process may use, by number.
std::vector<int> allowed_processors();

// Keeps this process on one of them; throws std::runtime_error.
void pin(int processor);

// A number for the machine of each rank. Nodes of an emulated cluster are on one: they share its processors,
// so the kernel is asked, not the host's name.
std::vector<std::uint64_t> machines(Communicator& world);

// Of this machine, as the kernel estimates it; empty where it does not say.
std::optional<std::int64_t> available_memory_bytes();

}  // namespace crosscut::program
