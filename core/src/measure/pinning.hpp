// Chooses the core that each rank of a node runs on.
#pragma once

#include <span>
#include <vector>

#include "program/program.hpp"

namespace crosscut::measure {

// Returns the cores that this process may run on, ascending. Cgroups, taskset and batch systems restrict
// them. Throws RunError.
std::vector<int> allowed_cores();

// Returns the core of each local rank, or an empty list to leave ranks unpinned. If `asked` is empty, ranks
// take the allowed cores as they are ordered if there is one for each, and stay unpinned otherwise: two ranks
// pinned to one core would wait for each other while another core idles. A list in `asked` is used
// round-robin. Throws UsageError for a core that is not allowed.
std::vector<int> plan_cores(bool pin, std::span<const int> asked, std::span<const int> allowed, Rank ranks);

void pin_to(int core);  // the calling thread and those that it starts later; throws RunError

}  // namespace crosscut::measure
