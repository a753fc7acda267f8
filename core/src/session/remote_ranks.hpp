// The living ranks behind control connections: agrees on epochs, gathers results, and recovers when a rank is
// lost.
#pragma once

#include "conduct/session_host.hpp"
#include "session/rank_group.hpp"

namespace crosscut::session {

class RemoteRanks final : public RankGroup {
 public:
  explicit RemoteRanks(conduct::SessionHost& host) : host_(host), server_(host.server()) {}

  // Waits for all ranks and has them build the barrier.
  void assemble();
  // Makes all ranks abandon a failed job and get ready for the next; for failures with all ranks alive.
  void reset() override;
  // Serves inputs until one arrives or `seconds` have passed; also notices ranks lost between jobs.
  void idle(double seconds);

  Rank ranks() const override { return server_.ranks(); }
  std::vector<std::int32_t> nodes() const override { return node_; }
  json::Object attributes() const override;
  json::Object begin(const conduct::Job& job) override;
  BlockOutcome run(const BlockRequest& request) override;
  json::Object end() override;
  const std::vector<LostRank>& lost() const override { return lost_; }
  bool real_time() const override { return real_time_; }
  json::Value ready_event() const;

 private:
  struct Failure {};  // a rank was lost while something was awaited
  ControlServer::Heard hear(double seconds, bool expecting);
  std::vector<Frame> collect(FrameType wanted);
  std::vector<json::Value> collect_facts();
  void note_loss(Rank rank, const std::string& reason);
  void handle_complaint(Rank from, const Complaint& complaint);
  void recover();
  void estimate_skew(const std::vector<Frame>& ready);
  void merge(Rank rank, const measure::RankSamples& samples, BlockOutcome& outcome) const;
  std::string node_name(Rank rank) const;
  std::string describe_stall(const std::vector<bool>& done);
  [[noreturn]] void give_up();

  conduct::SessionHost& host_;
  ControlServer& server_;
  std::uint32_t epoch_ = 1;
  std::vector<std::int32_t> node_;
  std::vector<json::Value> node_facts_;
  json::Object sync_, clock_;
  std::vector<LostRank> lost_;
  std::size_t lost_handled_ = 0;  // entries of lost_ that the rebuilt barrier leaves out
  bool tolerant_ = false, real_time_ = true;
  std::int32_t slots_ = 1;
  std::unique_ptr<program::Pattern> pattern_;
};

}  // namespace crosscut::session
