// Writes a network as a SimGrid platform (https://simgrid.org, platform DTD 4.1), which SMPI runs on and
// which tests use to check the simulator against SimGrid.
//
// The platform has a host for each rank, with names of one length, so that SimGrid's order of names is that
// of the ranks; a link for each capacity; and an explicit route for every pair of ranks. SimGrid thus shares
// exactly the capacities that crosscut shares, whatever the routing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "networks/network.hpp"
#include "program/program.hpp"

namespace crosscut::backends::sim {

// A route is written for every ordered pair, a million for 1,024 ranks.
inline constexpr Rank platform_ranks_max = 2048;
std::string too_many_for_platform(std::int64_t ranks);

// Writes the platform to `file` and the name of each rank's host to `hostfile`, one a line. Throws UsageError
// (more ranks than platform_ranks_max, or than the hosts take) or RunError (a file cannot be written).
void write_platform(const networks::Network& network, Rank ranks, int ranks_per_host,
                    const std::filesystem::path& file, const std::filesystem::path& hostfile);

}  // namespace crosscut::backends::sim
