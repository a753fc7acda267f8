// SimGrid settings that make the network description the only source of times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "networks/network.hpp"

namespace crosscut::smpi {

// Settings as "name:value". If a name occurs twice, the later value wins.
using SmpiOptions = std::vector<std::string>;

// Processor time that a rank spends on each message, seconds.
struct Overheads {
  double send = 0, receive = 0;
};

// Returns the overheads of all hosts. Throws UsageError if hosts differ: SMPI has one set for all.
Overheads common_overheads(const networks::Network& network);

// For any MPI program. SMPI charges the receive overhead in MPI_Recv, not in waits for several messages.
SmpiOptions smpi_program_options(const Overheads& overheads);
// For the player, which models overheads itself. Messages of up to `eager_bytes` do not wait for receives.
SmpiOptions smpi_player_options(std::int64_t eager_bytes);

// Writes one option per line.
void write_options(const SmpiOptions& options, const std::filesystem::path& file);

}  // namespace crosscut::smpi
