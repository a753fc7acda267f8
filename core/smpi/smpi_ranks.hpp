// Simulated ranks under the engine that each job asks for. The second engine runs every rank as an MPI
// process under SimGrid's SMPI, with SimGrid's own model of sharing and MPI's own protocol.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "backends/sim/ranks.hpp"
#include "smpi/smpi_process.hpp"

namespace crosscut::smpi {

// A new folder that is removed with all its content at the end.
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
  // Platform files and process of the current job of this engine.
  struct Simulation {
    TemporaryFolder folder;
    std::unique_ptr<SmpiProcess> process;
  };

  std::optional<SmpiBlock> job_;  // the part common to all blocks; empty: the job uses the first engine
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace crosscut::smpi
