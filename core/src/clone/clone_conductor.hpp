// Rank 0's second task while a session clones, in a thread of its own: has all ranks prepare, orders the
// chain, closes it over lost ranks, and compares every copy's SHA-256 with the source's.
#pragma once

#include <chrono>
#include <deque>
#include <string>

#include "clone/clone_roster.hpp"
#include "conduct/session_host.hpp"
#include "session/messages.hpp"

namespace crosscut::clone {

class CloneConductor final : public conduct::SessionHost {
 public:
  CloneConductor(const session::RankSetup& setup, const session::Address& interface);

 private:
  // The session.
  void conduct() override;
  void assemble();
  void serve();
  void take(const std::string& request);
  std::string cause_of(Rank rank, const std::string& otherwise);

  // One copy.
  void clone(CloneJob job);
  void prepare(CloneJob& job);
  void ask_to_prepare(const CloneJob& job, const std::vector<Rank>& ranks);
  void copy();
  void send_chain();
  void receive_from_rank(const session::ControlServer::Heard& heard);
  void take_complaint(Rank from, const session::Complaint& complaint);
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

  CloneRoster roster_;

  std::uint32_t epoch_ = 0;
  std::deque<Suspicion> suspicions_;
  std::chrono::steady_clock::time_point start_{}, told_{};
  std::int64_t told_bytes_ = 0;
  double rate_ = 0;
  bool stopped_ = false, has_warned_ = false;
};

}  // namespace crosscut::clone
