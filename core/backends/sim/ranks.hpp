// All ranks of a simulated session, in this process; their times are computed.
#pragma once

#include <functional>
#include <memory>

#include "backends/sim/crew.hpp"
#include "session/rank_group.hpp"

namespace crosscut::backends::sim {

class SimulatedRanks : public session::RankGroup {
 public:
  struct Setup {
    Rank ranks = 0;           // 0: as many as fit
    int ranks_per_host = 0;   // 0: as the network says
    std::string description;  // the text of the network file, as read
    // Called now and then while a block is computed; an exception ends the block.
    std::function<void()> idle = [] {};
  };
  // Throws UsageError if the ranks do not fit.
  SimulatedRanks(std::unique_ptr<networks::Network> network, Setup setup);

  Rank ranks() const override { return setup_.ranks; }
  std::int32_t rails() const override { return network_->rails(setup_.ranks_per_host); }
  std::vector<std::int32_t> nodes() const override;
  json::Object attributes() const override;
  json::Value ready_event() const;
  json::Object begin(const conduct::Job& job) override;
  session::BlockOutcome run(const session::BlockRequest& request) override;
  json::Object end() override;
  void reset() override;
  const std::vector<session::LostRank>& lost() const override { return nobody_; }
  bool real_time() const override { return false; }

 protected:
  const networks::Network& network() const { return *network_; }
  const Setup& setup() const { return setup_; }
  const program::Pattern& pattern() const { return *pattern_; }  // of the current job

 private:
  networks::Vertex hosts_used() const { return paths_.host(setup_.ranks - 1) + 1; }
  json::Value node_list() const;

  std::unique_ptr<networks::Network> network_;
  Setup setup_;
  NetworkPaths paths_;
  std::unique_ptr<program::Pattern> pattern_;
  std::unique_ptr<SimCrew> crew_;
  std::atomic<std::int64_t> at_once_ = 0, by_events_ = 0;  // phases of the job
  std::vector<session::LostRank> nobody_;
};

}  // namespace crosscut::backends::sim
