// Starts the ranks of this node, and through a tree the other nodes, and ends them all: when rank 0 ends,
// when a signal asks, when the life-line breaks, and whenever this process dies.
#pragma once

#include "launch/rank_process.hpp"
#include "session/session_config.hpp"

namespace crosscut {

struct LaunchStreams {
  int requests_fd = 0;  // inherited by rank 0
  int events_fd = 1;    // inherited by rank 0; on other nodes, reports to whoever started this one
  // Where rank 0 is elsewhere: its end of file ends this node's ranks. -1: nothing tells.
  int lifeline_fd = 0;
};

// Returns the exit status: rank 0's, or 1 where another rank or node failed, with the reason on standard
// error. `config` has its ranks found (apply_layout) and, where rank 0 is elsewhere, its conductor. The
// caller must have a single thread. Throws UsageError and RunError before anything was started.
int launch(const SessionConfig& config, const LaunchStreams& streams, const RankBody& body);

// A session of this machine's ranks, run by run_rank: what `crosscut-core run` needs.
int launch_local(SessionConfig config, int requests_fd, int events_fd);

// `crosscut-core node`: configuration on standard input. argv[0] is the command's name.
int node_main(int argc, char** argv);
// The same with another body, for tests of the launcher itself.
int node_main_with(int argc, char** argv, const RankBody& body);

}  // namespace crosscut
