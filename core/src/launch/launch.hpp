// Starts the ranks of this node, and through a tree the other nodes, and ends them all: when rank 0 ends,
// when a signal asks, when the life-line breaks, and whenever this process dies.
#pragma once

#include "launch/rank_process.hpp"
#include "session/session_config.hpp"

namespace crosscut::launch {

struct LaunchStreams {
  int requests_fd = 0;  // inherited by rank 0
  int events_fd = 1;    // inherited by rank 0; on other nodes, reports to whoever started this one
  // Where rank 0 is elsewhere: its end of file ends this node's ranks. -1: nothing tells.
  int lifeline_fd = 0;
};

// Returns the exit status: rank 0's, or 1 where another rank or node failed, with the reason on standard
// error. `config` has its ranks found (apply_layout) and, where rank 0 is elsewhere, its conductor. The
// caller must have a single thread. Throws UsageError and RunError before anything was started.
int launch(const session::SessionConfig& config, const LaunchStreams& streams, const RankBody& body);

// `crosscut-core node` with `body` for each rank: configuration on standard input. argv[0] is the command's
// name.
int node_main_with(int argc, char** argv, const RankBody& body);

}  // namespace crosscut::launch
