// Which core each rank of a node runs on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "program/program.hpp"

namespace crosscut::measure {

// Cores this process may run on (cgroups, taskset and batch systems narrow them), ascending.
std::vector<int> allowed_cores();

// Core of each local rank; empty: not pinned. With `asked` empty, ranks take the allowed cores in order when
// there is one for each, and stay unpinned otherwise: two ranks pinned to one core would wait for each other
// while another core idles. A list that was asked for is taken round-robin. Throws UsageError for a core that
// is not allowed.
std::vector<int> plan_cores(bool pin, std::span<const int> asked, std::span<const int> allowed, Rank ranks);

void pin_to(int core);  // the calling process; throws RunError

}  // namespace crosscut::measure
