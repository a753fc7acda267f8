// Starts the ranks of this node and, through a tree, the other nodes. Ends them all when rank 0 ends, on a
// signal, when the lifeline closes, or when this process dies.
#pragma once

#include "launch/rank_process.hpp"
#include "session/session_config.hpp"

namespace crosscut::launch {

struct LaunchStreams {
  int requests_fd = 0;  // inherited by rank 0
  int events_fd = 1;    // inherited by rank 0; on other nodes, reports to the parent node
  // If rank 0 is on another node, end of file here ends this node's ranks. -1: none.
  int lifeline_fd = 0;
};

// Runs this node's part of a session. Returns rank 0's exit status, or 1 if another rank or node failed, with
// the reason on standard error. `config` must have its layout applied (apply_layout) and, if rank 0 is on
// another node, `conductor` set. The caller must have a single thread. Throws UsageError and RunError only
// before it starts anything.
int launch(const session::SessionConfig& config, const LaunchStreams& streams, const RankBody& body);

// Does the same for a session that starts ranks; defined in node.cpp.
int run_node(const session::SessionConfig& config, const LaunchStreams& streams, const RankBody& body);

// Runs `crosscut-core node` with `body` for each rank; reads the configuration from standard input. argv[0]
// is the command's name. Returns the exit status.
int node_main_with(int argc, char** argv, const RankBody& body);

}  // namespace crosscut::launch
