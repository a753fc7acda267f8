// Rank 0's second task: takes jobs, gives blocks to the ranks and writes the run. It has its own thread,
// which sleeps while a timed section runs.
#pragma once

#include <string>

#include "conduct/session_host.hpp"
#include "session/remote_ranks.hpp"

namespace crosscut::conduct {

class Conductor {
 public:
  Conductor(const session::RankSetup& setup, const session::Address& interface);
  session::Address address() const { return host_.address(); }
  void run();  // until the session ends; never throws
  // Called by rank 0's measuring thread with the reason why it cannot continue.
  void rank_zero_failed(const std::string& reason) { host_.rank_zero_failed(reason); }
  int exit_status() const { return host_.jobs().exit_status(); }

 private:
  void serve();

  SessionHost host_;
  session::RemoteRanks ranks_;
};

}  // namespace crosscut::conduct
