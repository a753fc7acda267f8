// Rank 0's second task: takes jobs, gives blocks to the ranks, writes the run. A thread of its own, asleep
// while a timed section runs.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "control_server.hpp"
#include "events.hpp"
#include "rank.hpp"
#include "remote_ranks.hpp"
#include "requests.hpp"

namespace crosscut {

class Conductor {
 public:
  Conductor(const RankSetup& setup, const Address& interface);
  Address address() const { return server_.address(); }
  void run();  // until the session ends; never throws
  // From rank 0's measuring thread: why it cannot go on.
  void rank_zero_failed(const std::string& reason);
  int exit_status() const { return exit_status_; }

 private:
  void announce();
  void serve();
  void do_request(const std::string& line);
  void run_job(const json::Value& job);
  void hear_input(int fd);
  bool stop_asked();
  std::string cause(Rank rank);
  void note_status(int status) { exit_status_ = exit_status_ == 0 ? status : exit_status_.load(); }

  const RankSetup& setup_;
  Events events_;
  Requests requests_;
  Requests reports_;  // of the launcher, about ranks whose end it saw
  Fd signals_;
  ControlServer server_;
  RemoteRanks ranks_;
  std::mutex mutex_;  // guards rank_zero_reason_
  std::string rank_zero_reason_;
  std::vector<std::pair<Rank, std::string>> causes_;
  int interrupts_ = 0;
  bool end_ = false;
  std::atomic<int> exit_status_ = 0;
};

}  // namespace crosscut
