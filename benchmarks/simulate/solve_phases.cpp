// Times phases of crosscut's simulator: the code of the backend `sim`, without writing a run.
//
// Usage: solve_phases NETWORK RANKS PATTERN PHASES [WORKERS] [FLOWS]
// Simulates the phases of PATTERN on the network's first RANKS hosts and prints one JSON object: seconds to
// read the network, seconds of each phase (route, index, solve, samples), flows per phase, peak memory. Also
// writes the flows of each phase to the file FLOWS, for s4u_flows.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backends/sim/crew.hpp"
#include "backends/sim/paths.hpp"
#include "base/json.hpp"
#include "networks/network.hpp"
#include "program/parameters.hpp"
#include "program/registry.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::backends::sim;
using namespace crosscut::networks;
using namespace crosscut::program;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

constexpr std::int64_t message_bytes = 1'000'000;

std::string rank_name(Rank rank, Rank ranks) {
  std::string digits = std::to_string(rank);
  digits.insert(0, std::to_string(ranks - 1).size() - digits.size(), '0');
  return "r" + digits;
}

// Writes a line per flow, and an empty line after each phase.
void write_flows(const char* path, const Pattern& pattern, Rank ranks, std::int64_t phases) {
  std::ofstream file(path);
  std::vector<Op> ops;
  for (std::int64_t index = 0; index < phases; ++index) {
    const auto phase = pattern.phase(ranks, message_bytes, index);
    for (Rank rank = 0; rank < ranks; ++rank) {
      ops.clear();
      phase->emit(rank, ops);
      for (const auto& op : ops) {
        if (op.kind == Op::Kind::send)
          file << rank_name(rank, ranks) << ' ' << rank_name(op.peer, ranks) << ' ' << op.bytes << '\n';
      }
    }
    file << '\n';
  }
}

int run(int argc, char** argv) {
  const std::string name = argv[1];
  const auto ranks = static_cast<Rank>(std::atoi(argv[2]));
  const auto& info = find_pattern(argv[3]);
  const std::int64_t phases = std::atoll(argv[4]);
  const std::size_t workers = argc > 5 ? static_cast<std::size_t>(std::atoi(argv[5])) : 1;
  auto start = Clock::now();
  const auto network = read_network(name);
  const double reading = since(start);
  std::map<std::string, std::string> given;
  if (info.name == "random-pairwise") given["random-phases"] = std::to_string(phases);
  const auto pattern = info.make(Parameters(info.parameters, given, "pattern"));
  const NetworkPaths paths(*network, (ranks + network->graph.hosts - 1) / network->graph.hosts);
  SimCrew crew(paths, SimModel{}, workers);
  std::vector<double> seconds(static_cast<std::size_t>(phases));
  std::size_t flows = 0;
  bool one_solve = true;
  std::mutex mutex;
  start = Clock::now();
  crew.run(
      0, phases,
      [&](std::int64_t index, PhaseSimulation& simulation) {
        const auto before = Clock::now();
        simulation.run(*pattern->phase(ranks, message_bytes, index), ranks, index);
        const std::lock_guard lock(mutex);
        seconds[static_cast<std::size_t>(index)] = since(before);
        flows = simulation.times().done.size() / 2;
        one_solve = one_solve && simulation.needed_one_solve();
      },
      [] {});
  const double all = since(start);
  if (argc > 6) write_flows(argv[6], *pattern, ranks, phases);
  json::Array each(seconds.begin(), seconds.end());
  const auto report = json::Object{{"network", name},
                                   {"hosts", static_cast<std::int64_t>(network->graph.hosts)},
                                   {"ranks", static_cast<std::int64_t>(ranks)},
                                   {"pattern", std::string(info.name)},
                                   {"phases", phases},
                                   {"workers", static_cast<std::int64_t>(workers)},
                                   {"flows", static_cast<std::int64_t>(flows)},
                                   {"one_solve", one_solve},
                                   {"reading_seconds", reading},
                                   {"all_phases_seconds", all},
                                   {"phase_seconds", std::move(each)},
                                   {"peak_bytes", peak_bytes()}};
  std::printf("%s\n", json::write(report).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: solve_phases NETWORK RANKS PATTERN PHASES [WORKERS] [FLOWS]\n");
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "solve_phases: %s\n", error.what());
    return 1;
  }
}
