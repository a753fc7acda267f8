// Simulated ranks under the engine that each job asks for. The second engine: every rank is an MPI process
// under SimGrid's SMPI, which has SimGrid's own model of sharing and MPI's own protocol.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "backends/sim/ranks.hpp"
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

class SmpiRanks final : public backends::sim::SimulatedRanks {
 public:
  using SimulatedRanks::SimulatedRanks;
  json::Object begin(const conduct::Job& job) override;
  session::BlockOutcome run(const session::BlockRequest& request) override;
  json::Object end() override;
  void reset() override;

 private:
  // Platform and process; both are there while a job of this engine is.
  struct Simulation {
    TemporaryFolder folder;
    std::unique_ptr<SmpiProcess> process;
  };

  std::optional<SmpiBlock> job_;  // what is the same for all blocks; none: the job is the first engine's
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace crosscut::smpi
