#include "smpi/smpi_ranks.hpp"

#include <stdlib.h>

#include "backends/sim/platform.hpp"
#include "base/error.hpp"

namespace crosscut::smpi {
namespace {

// Copies the samples of one repetition from the player's order to the store's, for every repetition: each
// phase starts afresh, so repetitions would differ only in the last digits, because the clock has advanced.
store::BlockData arranged(const store::Block& block, std::span<const double> played, std::int64_t slots) {
  store::BlockData data;
  data.block = block;
  const auto width = static_cast<std::size_t>(slots) + 1;
  for (auto repetition = block.repetition_first; repetition < block.repetition_end; ++repetition) {
    for (std::size_t cell = 0; cell < played.size(); cell += width) {
      data.rank_seconds.push_back(played[cell]);
      const auto messages = played.subspan(cell + 1, width - 1);
      data.message_seconds.insert(data.message_seconds.end(), messages.begin(), messages.end());
    }
  }
  data.status.assign(data.rank_seconds.size(), store::Status::measured);
  return data;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  auto name = (std::filesystem::temp_directory_path() / "crosscut-smpi-XXXXXX").string();
  if (name.find_first_of(" \t\n") != std::string::npos)
    throw UsageError("TMPDIR: smpirun cannot read files in " + name +
                     ", because its name contains a blank; set TMPDIR to another folder");
  if (::mkdtemp(name.data()) == nullptr) throw_errno("create the folder " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

json::Object SmpiRanks::begin(const conduct::Job& job) {
  reset();
  SimulatedRanks::begin(job);  // refuses jobs that no simulation can run
  const program::Parameters given(program::find_backend(job.backend).parameters, job.backend_parameters,
                                  "backend " + job.backend);
  if (given.text("engine") != "smpi") return {};
  if (job.rails > 1) throw UsageError("a rank has one rail in the engine smpi; leave out --rails");
  for (const auto* model : {"knee", "share-spread"}) {
    if (given.real(model) > 0)
      throw UsageError(std::string(model) +
                       " belongs to the engine max-min; the engine smpi shares as SimGrid does");
  }
  const auto overheads = common_overheads(network());
  find_smpi_player();  // fails before a platform of a million routes is written

  auto simulation = std::make_unique<Simulation>();
  SmpiProcess::Setup setup{.platform = simulation->folder.path() / "platform.xml",
                           .hosts = simulation->folder.path() / "hosts",
                           .log = simulation->folder.path() / "log",
                           .ranks = ranks(),
                           .options = smpi_player_options(given.integer("eager")),
                           .idle = this->setup().idle};
  backends::sim::write_platform(network(), ranks(), this->setup().ranks_per_host, setup.platform,
                                setup.hosts);
  simulation->process = std::make_unique<SmpiProcess>(std::move(setup));
  simulation_ = std::move(simulation);
  job_ = {.pattern = job.pattern, .parameters = job.pattern_parameters, .overheads = overheads};
  return {};
}

session::BlockOutcome SmpiRanks::run(const session::BlockRequest& request) {
  if (!job_) return SimulatedRanks::run(request);
  if (!simulation_) throw RunError("the simulation under SMPI has ended");
  auto block = *job_;
  block.bytes = request.bytes;
  block.phase_first = request.block.phase_first;
  block.phase_end = request.block.phase_end;
  const auto extent = pattern().extent(ranks(), request.bytes);
  block.slots = extent.slots;
  block.window = extent.window;
  try {
    session::BlockOutcome outcome;
    outcome.data = arranged(request.block, simulation_->process->play(block), block.slots);
    return outcome;
  } catch (...) {
    simulation_.reset();  // the process may have stopped in the middle of an answer
    throw;
  }
}

json::Object SmpiRanks::end() {
  if (!job_) return SimulatedRanks::end();
  json::Object facts{{"clock", "virtual"}, {"engine", "smpi"}};
  if (simulation_) {
    const auto& options = simulation_->process->options();
    facts.emplace_back("simgrid", simulation_->process->simgrid_version());
    facts.emplace_back("options", json::Array(options.begin(), options.end()));
  }
  reset();
  return {{"backend_facts", std::move(facts)}};
}

void SmpiRanks::reset() {
  job_.reset();
  simulation_.reset();
  SimulatedRanks::reset();
}

}  // namespace crosscut::smpi
