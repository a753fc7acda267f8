// One measuring process, from joining the session to its end. `node` (node.cpp) calls it in each child, and
// the MPI executable in each task.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "program/program.hpp"

namespace crosscut::session {

struct RankSetup {
  Rank rank = 0;
  Rank ranks = 1;
  Rank local_ranks = 1;                 // ranks on this node; if fewer than `ranks`, rank 0 says `listening`
  std::string host;                     // this node's name as the launcher knows it; empty: gethostname
  std::string secret;                   // raw bytes, 32
  std::string conductor;                // "address:port" of rank 0; ignored by rank 0 itself
  std::string interface = "127.0.0.1";  // numeric address or interface name that listeners bind to
  std::string backend = "tcp";
  std::string place = "local";
  double timeout_seconds = 30;  // a silent rank is reported within about twice this
  // The conductor pings every half time-out, but between blocks it may be handling a loss or waiting for its
  // disk.
  double silence_seconds() const { return 2 * timeout_seconds + 5; }
  bool oversubscribed = false;  // more ranks than cores on this node: waits block
  // Rank 0 only. Reads requests from `requests_fd` and writes events to `events_fd` (session protocol).
  // Writes the conductor's address to `address_fd` as one line, unless it is -1.
  int requests_fd = 0;
  int events_fd = 1;
  int address_fd = -1;
  // Rank 0 only: source of lines {"event": "failed-rank", "rank": 5, "node": "n003", "reason": …} about ranks
  // whose end the launcher saw. They often come before any connection fails and give the cause (a signal).
  // -1: none.
  int reports_fd = -1;
  // Rank 0 only: called in the measuring thread with the conductor's address, before it joins. Launchers that
  // inform the other ranks by their own means (MPI) use it.
  std::function<void(const std::string& address)> announce;
  // Called with the reason why this rank cannot continue, before run_rank returns a status other than 0. If
  // empty, the reason appears on standard error only.
  std::function<void(std::string_view)> last_words;
};

// Runs `body` and returns its exit status. If it throws, reports why on standard error and to the setup's
// last_words, and returns 2 (UsageError) or 1.
int guarded(const RankSetup& setup, const std::function<int()>& body);

// Returns the exit status: 0 success, 1 a job or rank failed, 2 usage error, 130 interrupted.
int run_rank(const RankSetup& setup);

}  // namespace crosscut::session
