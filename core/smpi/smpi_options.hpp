// What SimGrid is told, so that the network's description is the only source of times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "networks/network.hpp"

namespace crosscut::smpi {

// Settings of SimGrid, "name:value". Of two of one name the later wins.
using SmpiOptions = std::vector<std::string>;

// A rank's own time for each message, seconds.
struct Overheads {
  double send = 0, receive = 0;
};

// Overheads of a network's hosts; SMPI has one set for all, so UsageError where they differ.
Overheads common_overheads(const networks::Network& network);

// For any MPI program. SMPI takes the overhead of a receive in MPI_Recv, not where many are waited for.
SmpiOptions smpi_program_options(const Overheads& overheads);
// For the player, which takes overheads itself. Messages of at most `eager_bytes` do not wait for their
// receive.
SmpiOptions smpi_player_options(std::int64_t eager_bytes);

// One a line.
void write_options(const SmpiOptions& options, const std::filesystem::path& file);

}  // namespace crosscut::smpi
