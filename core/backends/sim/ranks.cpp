#include "backends/sim/ranks.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "measure/pinning.hpp"

namespace crosscut::backends::sim {
namespace {

constexpr networks::Vertex most_nodes_listed = 1024;
constexpr auto nothing = std::numeric_limits<double>::quiet_NaN();

// Returns the simulator's settings from the backend's parameters.
SimModel sim_model(const program::Parameters& given) {
  return {.eager_bytes = given.integer("eager"),
          .knee = networks::Knee(given.real("knee"), given.real("knee-scale")),
          .spread = networks::ShareSpread(given.real("share-spread"),
                                          static_cast<std::uint64_t>(given.integer("spread-seed")))};
}

// Replaces counts of 0 by the network's own. Throws UsageError if the ranks do not fit.
SimulatedRanks::Setup fitted(SimulatedRanks::Setup setup, const networks::Network& network) {
  if (setup.ranks_per_host == 0) setup.ranks_per_host = std::max(1, network.graph.host(0).ranks);
  const auto room = static_cast<std::int64_t>(network.graph.hosts) * setup.ranks_per_host;
  const auto words = std::to_string(network.graph.hosts) + " hosts of " +
                     std::to_string(setup.ranks_per_host) + " rank" + (setup.ranks_per_host == 1 ? "" : "s") +
                     " each";
  if (setup.ranks == 0) {
    if (room > std::numeric_limits<Rank>::max())
      throw UsageError("the network has " + words + ": too many; say how many ranks to simulate");
    setup.ranks = static_cast<Rank>(room);
  }
  if (setup.ranks > room)
    throw UsageError(std::to_string(setup.ranks) + " ranks do not fit: the network " + network.name +
                     " has " + words + "; ask for fewer, or for more ranks on a host (--ranks-per-host)");
  return setup;
}

// Throws UsageError if the pattern uses more rails than a rank has adapters: two rails on one adapter would
// share its rate and yet be reported separately.
void check_rails(const conduct::Job& job, const program::Pattern& pattern, const networks::Network& network,
                 const SimulatedRanks::Setup& setup) {
  const int rails = network.rails(setup.ranks_per_host);
  for (const auto bytes : job.sizes) {
    const auto wanted = pattern.extent(setup.ranks, bytes).rails;
    if (wanted <= rails) continue;
    throw UsageError("the job uses " + std::to_string(wanted) + " rails, but a rank on network " +
                     network.name + " has " + std::to_string(rails) + " (one per adapter" +
                     (setup.ranks_per_host > 1
                          ? "; " + std::to_string(setup.ranks_per_host) + " ranks share a host's adapters"
                          : "") +
                     "); lower --rails");
  }
}

}  // namespace

SimulatedRanks::SimulatedRanks(std::unique_ptr<networks::Network> network, Setup setup)
    : network_(std::move(network)),
      setup_(fitted(std::move(setup), *network_)),
      paths_(*network_, setup_.ranks_per_host) {}

std::vector<std::int32_t> SimulatedRanks::nodes() const {
  std::vector<std::int32_t> nodes;
  for (Rank rank = 0; rank < setup_.ranks; ++rank) nodes.push_back(paths_.host(rank));
  return nodes;
}

json::Object SimulatedRanks::attributes() const {
  // A phase starts at the same moment on all ranks, and reading the clock takes no time.
  return {{"nodes", node_list()},
          {"sync", json::Object{{"skew_uncertainty_seconds", 0.0}}},
          {"clock", json::Object{{"name", "virtual"}, {"resolution_seconds", 0.0}, {"cost_seconds", 0.0}}},
          {"network", json::Object{{"name", network_->name},
                                   {"title", network_->title},
                                   {"kind", network_->kind},
                                   {"path", network_->file},
                                   {"hosts", network_->graph.hosts},
                                   {"switches", network_->graph.switches},
                                   {"ranks_per_host", setup_.ranks_per_host},
                                   {"description", setup_.description}}}};
}

// Lists all hosts, or only the first and the last if there are very many: entries for all would dominate a
// run's metadata.
json::Value SimulatedRanks::node_list() const {
  const auto node = [this](networks::Vertex host) {
    const auto name = network_->graph.name(host);
    return json::Object{{"name", name}, {"id", name}};
  };
  if (hosts_used() > most_nodes_listed)
    return json::Object{{"count", hosts_used()}, {"first", node(0)}, {"last", node(hosts_used() - 1)}};
  json::Array nodes;
  for (networks::Vertex host = 0; host < hosts_used(); ++host) nodes.emplace_back(node(host));
  return nodes;
}

json::Value SimulatedRanks::ready_event() const {
  if (hosts_used() > most_nodes_listed)
    return json::Object{{"event", "ready"}, {"ranks", setup_.ranks}, {"nodes", node_list()}};
  json::Array nodes;
  for (networks::Vertex host = 0; host < hosts_used(); ++host) {
    json::Array on_it;
    const auto first = static_cast<std::int64_t>(host) * setup_.ranks_per_host;
    for (auto rank = first; rank < std::min<std::int64_t>(first + setup_.ranks_per_host, setup_.ranks);
         ++rank)
      on_it.emplace_back(rank);
    nodes.emplace_back(json::Object{{"name", network_->graph.name(host)}, {"ranks", std::move(on_it)}});
  }
  return json::Object{{"event", "ready"}, {"ranks", setup_.ranks}, {"nodes", std::move(nodes)}};
}

json::Object SimulatedRanks::begin(const conduct::Job& job) {
  const auto& backend = program::find_backend(job.backend);
  if (backend.serve == nullptr)
    throw UsageError("this session is simulated; it cannot measure over backend " + job.backend);
  if (job.compute)
    throw UsageError("computing beside a simulated pattern would take no time; leave out --compute");
  if (job.wait != "auto") throw UsageError("simulated ranks do not wait for data; leave out --wait");
  if (job.sync != "barrier")
    throw UsageError("backend " + job.backend +
                     " simulates phases one by one behind a barrier, not streaming; "
                     "leave out --sync none");
  if (job.iterations > 1)
    throw UsageError("backend " + job.backend +
                     " computes every phase once: further iterations would be the same; "
                     "leave out --iterations");
  pattern_ = conduct::make_pattern(job);
  check_rails(job, *pattern_, *network_, setup_);
  const program::Parameters given(backend.parameters, job.backend_parameters, "backend " + job.backend);
  crew_ = std::make_unique<SimCrew>(paths_, sim_model(given), measure::allowed_cores().size());
  at_once_ = by_events_ = 0;
  return {};
}

session::BlockOutcome SimulatedRanks::run(const session::BlockRequest& request) {
  session::BlockOutcome outcome;
  auto& data = outcome.data;
  const auto& block = data.block = request.block;
  const auto phases = static_cast<std::size_t>(block.phase_end - block.phase_first);
  const auto repetitions = static_cast<std::size_t>(block.repetition_end - block.repetition_first);
  if (repetitions == 0) return outcome;
  const auto extent = pattern_->extent(ranks(), request.bytes);
  const std::int64_t slots = extent.slots;
  const auto width = static_cast<std::size_t>(ranks()), messages = width * static_cast<std::size_t>(slots);
  // Each phase is summarised once it is simulated: the samples of a whole block would not fit into memory.
  if (request.summarise) {
    data.phases.resize(phases * repetitions);
  } else {
    data.rank_seconds.assign(phases * repetitions * width, nothing);
    data.message_seconds.assign(phases * repetitions * messages, nothing);
    data.status.assign(data.rank_seconds.size(), store::Status::measured);
  }
  const auto simulate = [&](std::int64_t index, PhaseSimulation& simulation) {
    simulation.run(*pattern_->phase(ranks(), request.bytes, index), ranks(), index, extent.window);
    ++(simulation.needed_one_solve() ? at_once_ : by_events_);
    const auto cell = static_cast<std::size_t>(index - block.phase_first);
    if (request.summarise) {
      data.phases[cell] = simulation.summary(slots);
    } else {
      simulation.samples(slots, std::span(data.message_seconds).subspan(cell * messages, messages),
                         std::span(data.rank_seconds).subspan(cell * width, width));
    }
  };
  crew_->run(block.phase_first, block.phase_end, simulate, setup_.idle);
  // A phase's times depend only on its number, so every repetition equals the first.
  const auto repeat = [repetitions](auto& values) {
    const auto one = values.size() / repetitions;
    for (std::size_t i = 1; i < repetitions; ++i)
      std::ranges::copy(std::span(values).first(one), values.begin() + static_cast<std::ptrdiff_t>(i * one));
  };
  repeat(data.phases);
  repeat(data.rank_seconds);
  repeat(data.message_seconds);
  return outcome;
}

json::Object SimulatedRanks::end() {
  json::Object facts{{"clock", "virtual"},
                     {"threads", static_cast<std::int64_t>(crew_->workers())},
                     {"phases_in_one_solve", at_once_.load()},
                     {"phases_by_events", by_events_.load()}};
  reset();
  return {{"backend_facts", std::move(facts)}};
}

void SimulatedRanks::reset() {
  crew_.reset();
  pattern_.reset();
}

}  // namespace crosscut::backends::sim
