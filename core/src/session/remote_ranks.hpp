// The living ranks behind control connections: agrees on epochs, gathers results, and recovers when a rank is
// lost.
#pragma once

#include <functional>

#include "session/control_server.hpp"
#include "session/messages.hpp"
#include "session/rank_group.hpp"

namespace crosscut::session {

class RemoteRanks final : public RankGroup {
 public:
  struct Hooks {
    std::function<void(int fd)> input;  // a watched descriptor is readable
    std::function<void(const LostRank&)> lost;
    std::function<void(const std::string&)> warn;
    // Returns why a rank ended if the launcher saw it (a signal); empty: unknown.
    std::function<std::string(Rank)> cause;
    bool launcher_reports = true;  // false: no cause will arrive later
  };
  RemoteRanks(ControlServer& server, Hooks hooks) : server_(server), hooks_(std::move(hooks)) {}

  // Waits for all ranks and has them build the barrier.
  void assemble(double patience_seconds, const std::function<void()>& idle);
  // Makes all ranks abandon a failed job and get ready for the next; for failures with all ranks alive.
  void reset() override;
  // Ends the session of all ranks. Safe to call in any state.
  void dismiss();
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
  std::vector<Frame> collect(FrameType wanted);
  void note_loss(Rank rank, const std::string& reason);
  void handle_complaint(Rank from, const Complaint& complaint);
  void recover();
  void estimate_skew(const std::vector<Frame>& ready);
  void merge(Rank rank, const measure::RankSamples& samples, BlockOutcome& outcome) const;
  std::string node_name(Rank rank) const;
  std::string describe_stall(const std::vector<bool>& done);
  [[noreturn]] void give_up();

  ControlServer& server_;
  Hooks hooks_;
  std::uint32_t epoch_ = 1;
  std::vector<std::int32_t> node_;
  std::vector<json::Value> node_facts_;
  json::Object sync_, clock_;
  std::vector<LostRank> lost_;
  std::size_t lost_handled_ = 0;  // entries of lost_ that the rebuilt barrier leaves out
  bool tolerant_ = false, real_time_ = true;
  std::int32_t slots_ = 1;
  const program::Pattern* pattern_ = nullptr;
  std::unique_ptr<program::Pattern> made_;
};

}  // namespace crosscut::session
