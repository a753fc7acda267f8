// Rank 0's second task: takes jobs, gives blocks to the ranks and writes the run. It has its own thread,
// which sleeps while a timed section runs.
#pragma once

#include "conduct/session_host.hpp"
#include "session/remote_ranks.hpp"

namespace crosscut::conduct {

class Conductor final : public SessionHost {
 public:
  Conductor(const session::RankSetup& setup, const session::Address& interface)
      : SessionHost(setup, interface), ranks_(*this) {}

 private:
  void conduct() override {
    ranks_.assemble();
    events().say(ranks_.ready_event());
    watch_inputs();
    while (!jobs_.over()) {
      if (!jobs_.do_next(ranks_)) ranks_.idle(3600);
    }
  }

  session::RemoteRanks ranks_;
};

}  // namespace crosscut::conduct
