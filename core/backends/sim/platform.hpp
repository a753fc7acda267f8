// A network as a platform of SimGrid (https://simgrid.org, platform DTD 4.1): its oracle, and what SMPI runs
// on.
//
// A host of the platform for each rank, in order and with names of one length, so that SimGrid's own order of
// names is that of the ranks; a link for each capacity; the way of every pair of ranks written out. So
// SimGrid shares exactly the capacities that crosscut shares, whatever the routing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "networks/network.hpp"
#include "program/program.hpp"

namespace crosscut::backends::sim {

// Paths are written for every pair: at 1,024 ranks a million.
inline constexpr Rank platform_ranks_max = 2048;
std::string too_many_for_platform(std::int64_t ranks);

// Writes FILE, and beside it HOSTFILE with a name a rank. Throws UsageError (too many ranks, or more than the
// network's hosts take), RunError (the disk).
void write_platform(const networks::Network& network, Rank ranks, int ranks_per_host,
                    const std::filesystem::path& file, const std::filesystem::path& hostfile);

}  // namespace crosscut::backends::sim
