// Rank 0's second task while a session clones: has all ranks prepare, orders the chain, closes it over ranks
// that are lost, and holds every copy's SHA-256 against the source's. A thread of its own.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "clone_roster.hpp"
#include "control_server.hpp"
#include "job_desk.hpp"
#include "messages.hpp"
#include "node_report.hpp"
#include "rank.hpp"

namespace crosscut {

class CloneConductor {
 public:
  CloneConductor(const RankSetup& setup, const Address& interface);
  Address address() const { return server_.address(); }
  void run();  // until the session ends; never throws
  // From rank 0's other thread: why it cannot go on.
  void rank_zero_failed(const std::string& reason);
  int exit_status() const { return desk_.exit_status(); }

 private:
  // The session.
  void announce();
  void assemble();
  void serve();
  void take(const std::string& request);
  void hear_input(int fd);
  void hear_launcher();
  std::string cause(Rank rank, const std::string& otherwise);

  // One copy.
  void clone(CloneJob job);
  void prepare(CloneJob& job);
  void ask_to_prepare(const CloneJob& job, const std::vector<Rank>& ranks);
  void copy();
  void send_chain();
  void hear_rank(const ControlServer::Heard& heard);
  void take_complaint(Rank from, const Complaint& complaint);
  void settle_complaints();
  void judge(Rank rank);
  void lose(Rank rank, const std::string& reason);
  void warn_of_stall();
  void tell_progress();
  void tell_outcome();
  std::string name(Rank rank) const;
  double elapsed_seconds() const;

  struct Suspicion {
    Rank from, peer;
    std::string why;
    Deadline due;
  };

  const RankSetup& setup_;
  JobDesk desk_;
  Requests reports_;  // of the launcher, about ranks whose end it saw
  ControlServer server_;
  CloneRoster roster_;
  std::vector<NodeReport> losses_;
  std::mutex mutex_;  // guards rank_zero_reason_
  std::string rank_zero_reason_;

  std::uint32_t epoch_ = 0;
  std::deque<Suspicion> suspicions_;
  std::chrono::steady_clock::time_point start_{}, told_{};
  std::int64_t told_bytes_ = 0;
  double rate_ = 0;
  bool stopped_ = false, has_warned_ = false;
};

}  // namespace crosscut
