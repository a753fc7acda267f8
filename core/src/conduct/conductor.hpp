// Rank 0's second task: takes jobs, gives blocks to the ranks, writes the run. A thread of its own, asleep
// while a timed section runs.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "control_server.hpp"
#include "job_desk.hpp"
#include "node_report.hpp"
#include "rank.hpp"
#include "remote_ranks.hpp"

namespace crosscut {

class Conductor {
 public:
  Conductor(const RankSetup& setup, const Address& interface);
  Address address() const { return server_.address(); }
  void run();  // until the session ends; never throws
  // From rank 0's measuring thread: why it cannot go on.
  void rank_zero_failed(const std::string& reason);
  int exit_status() const { return desk_.exit_status(); }

 private:
  void announce();
  void serve();
  void hear_input(int fd);
  void hear_launcher();
  void check_gathering();
  std::string cause(Rank rank);

  const RankSetup& setup_;
  JobDesk desk_;
  Requests reports_;  // of the launcher, about ranks whose end it saw
  ControlServer server_;
  RemoteRanks ranks_;
  std::mutex mutex_;  // guards rank_zero_reason_
  std::string rank_zero_reason_;
  std::vector<NodeReport> losses_;     // as the launcher saw them
  std::optional<Deadline> all_heard_;  // while ranks gather: when those that are lost are named
};

}  // namespace crosscut
