// Simulated ranks under the engine that each job chooses. The engine `smpi` runs every rank as an MPI process
// under SimGrid's SMPI, with SimGrid's own model of sharing and MPI's own protocol.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "backends/sim/ranks.hpp"
#include "smpi/smpi_process.hpp"

namespace crosscut::smpi {

// A new folder, which the destructor removes with all its content.
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

class SmpiRanks final : public backends::sim::SimulatedRanks {
 public:
  using SimulatedRanks::SimulatedRanks;
  json::Object begin(const conduct::Job& job) override;
  session::BlockOutcome run(const session::BlockRequest& request) override;
  json::Object end() override;
  void reset() override;

 private:
  // Platform files and process of the current job, if its engine is smpi.
  struct Simulation {
    TemporaryFolder folder;
    std::unique_ptr<SmpiProcess> process;
  };

  std::optional<SmpiBlock> job_;  // the part common to all blocks; empty: the job's engine is max-min
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace crosscut::smpi
