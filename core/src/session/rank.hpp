// One measuring process, from joining the session to its end. Called by `node` (node.cpp) in each child
// and by the MPI executable in each task.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "program/program.hpp"

namespace crosscut::session {

struct RankSetup {
  Rank rank = 0;
  Rank ranks = 1;
  Rank local_ranks = 1;                 // of them on this node; fewer than `ranks`: rank 0 says `listening`
  std::string host;                     // this node's name as the launcher knows it; empty: gethostname
  std::string secret;                   // raw bytes, 32
  std::string conductor;                // "address:port" of rank 0; ignored by rank 0 itself
  std::string interface = "127.0.0.1";  // numeric address or interface name that listeners bind to
  std::string backend = "tcp";
  std::string place = "local";
  double timeout_seconds = 30;  // a silent rank is named within about twice this
  bool oversubscribed = false;  // more ranks than cores on this node: waits block
  // Rank 0 only. Requests come from `requests_fd`, events go to `events_fd` (session protocol). The
  // conductor's address is written to `address_fd` as one line, unless -1.
  int requests_fd = 0;
  int events_fd = 1;
  int address_fd = -1;
  // Rank 0 only: lines {"event": "failed-rank", "rank": 5, "node": "n003", "reason": …} about ranks whose end
  // the launcher saw, often before any connection says so and with the cause (a signal). -1: none.
  int reports_fd = -1;
  // Rank 0 only: called in the measuring thread with the conductor's address, before it joins. For launchers
  // that tell the others by means of their own (MPI).
  std::function<void(const std::string& address)> announce;
  // Called with why this rank cannot go on, before run_rank returns another status than 0. Empty: nobody but
  // the reader of standard error is told.
  std::function<void(std::string_view)> last_words;
};

// Returns the exit status: 0 fine, 1 a job or rank failed, 2 usage, 130 interrupted.
int run_rank(const RankSetup& setup);

}  // namespace crosscut::session
