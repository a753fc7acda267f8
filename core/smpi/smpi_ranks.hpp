// The second engine of simulated sessions: every rank is an MPI process under SimGrid's SMPI, which has
// SimGrid's own model of sharing and MPI's own protocol. What a session says of its ranks is what the first
// engine says.
#pragma once

#include <filesystem>
#include <memory>

#include "backends/sim/ranks.hpp"
#include "session/rank_group.hpp"
#include "smpi/smpi_process.hpp"

namespace crosscut::smpi {

// A new folder, removed at the end with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class SmpiRanks final : public session::RankGroup {
 public:
  // `ranks_per_host` 0: as the network says. `idle` as in SimulatedRanks::Setup. Both referred to outlive
  // this.
  SmpiRanks(backends::sim::SimulatedRanks& max_min, const networks::Network& network, int ranks_per_host,
            std::function<void()> idle);

  Rank ranks() const override { return max_min_.ranks(); }
  std::vector<std::int32_t> nodes() const override { return max_min_.nodes(); }
  json::Object attributes() const override { return max_min_.attributes(); }
  json::Object begin(const conduct::Job& job) override;
  session::BlockOutcome run(const session::BlockRequest& request) override;
  json::Object end() override;
  void reset() override;
  const std::vector<session::LostRank>& lost() const override { return max_min_.lost(); }
  bool real_time() const override { return false; }

 private:
  // Platform and process; both are there while a job is.
  struct Simulation {
    TemporaryFolder folder;
    std::unique_ptr<SmpiProcess> process;
    SmpiOptions options;
  };

  backends::sim::SimulatedRanks& max_min_;
  const networks::Network& network_;
  int ranks_per_host_;
  std::function<void()> idle_;
  SmpiBlock job_;  // what is the same for all blocks
  std::unique_ptr<program::Pattern> pattern_;
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace crosscut::smpi
