// One measuring process, from joining the session to its end. `node` (node.cpp) runs it in each child, the
// MPI executable in each task.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "program/program.hpp"

namespace crosscut::session {

struct RankSetup {
  Rank rank = 0;
  Rank ranks = 1;
  Rank local_ranks = 1;                 // ranks on this node; if fewer than `ranks`, rank 0 sends `listening`
  bool tells_of_node = true;            // false: another rank here tells the conductor of this node
  std::string host;                     // this node's name as the launcher knows it; empty: gethostname
  std::string secret;                   // raw bytes, 32
  std::string conductor;                // "address:port" of rank 0; ignored by rank 0 itself
  std::string interface = "127.0.0.1";  // numeric address or interface name that listeners bind to
  std::string control_interface;        // for barriers and the conductor, likewise; empty: `interface`
  std::string backend = "tcp";
  std::string place = "local";
  double timeout_seconds = 30;  // a silent rank is reported within about twice this
  // Time after which a silent conductor is considered gone. The conductor pings once per half time-out, but
  // may be late if it is handling a loss or waiting for its disk.
  double silence_seconds() const { return 2 * timeout_seconds + 5; }
  bool oversubscribed = false;  // more ranks than cores on this node, so waits block
  // Rank 0 only: reads requests from `requests_fd`, writes events to `events_fd` (session protocol), and
  // writes the conductor's address to `address_fd` as one line unless that is -1.
  int requests_fd = 0;
  int events_fd = 1;
  int address_fd = -1;
  // Rank 0 only: source of lines {"event": "failed-rank", "rank": 5, "node": "n003", "reason": …} about ranks
  // whose end the launcher saw. They give the cause (a signal) and often arrive before any connection fails.
  // -1: none.
  int reports_fd = -1;
  // Rank 0 only: called in the measuring thread with the conductor's address, before rank 0 joins; the
  // address is empty if there is no conductor. For launchers that distribute it themselves (MPI).
  std::function<void(const std::string& address)> announce;
  // Called with the reason if the conductor is gone, before the backend is freed: that may need all ranks, as
  // freeing windows of MPI does.
  std::function<void(std::string_view)> abandon;
  // Called with the reason why this rank cannot continue, before run_rank returns a status other than 0. If
  // not set, the reason goes to standard error only.
  std::function<void(std::string_view)> last_words;
};

// Runs `body` and returns its exit status. If `body` throws, reports the reason on standard error and through
// the setup's last_words, and returns 2 (UsageError) or 1.
int guarded(const RankSetup& setup, const std::function<int()>& body);

// Runs one rank and returns its exit status: 0 success, 1 a job or rank failed, 2 usage error, 130
// interrupted.
int run_rank(const RankSetup& setup);

}  // namespace crosscut::session
