// Simulates flows that start together in SimGrid: the oracle of crosscut's rates, and its peer in speed.
//
// Usage: s4u_flows PLATFORM FLOWS [--simgrid-option ...]
// FLOWS has a line "SOURCE DESTINATION BYTES" for each flow, with empty lines between phases; names are the
// platform's hosts. Prints for each flow the seconds until its last byte, and for each phase, after "#", the
// wall seconds that SimGrid took. Pure max-min: CM02 without window limit, correction factors and
// cross-traffic.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Flow {
  sg4::Host *source, *destination;
  std::uint64_t bytes;
};

std::vector<std::vector<Flow>> read_phases(const char* path) {
  std::ifstream file(path);
  std::vector<std::vector<Flow>> phases(1);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) {
      phases.emplace_back();
      continue;
    }
    std::istringstream words(line);
    std::string source, destination;
    std::uint64_t bytes = 0;
    if (!(words >> source >> destination >> bytes)) throw std::runtime_error("not a flow: " + line);
    phases.back().push_back({sg4::Host::by_name(source), sg4::Host::by_name(destination), bytes});
  }
  if (phases.back().empty()) phases.pop_back();
  return phases;
}

void play(const std::vector<std::vector<Flow>>& phases) {
  for (const auto& phase : phases) {
    const auto wall = std::chrono::steady_clock::now();
    const double start = sg4::Engine::get_clock();
    std::vector<sg4::CommPtr> flows;
    flows.reserve(phase.size());
    for (const auto& flow : phase)
      flows.push_back(sg4::Comm::sendto_async(flow.source, flow.destination, flow.bytes));
    for (const auto& flow : flows) flow->wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - wall;
    for (const auto& flow : flows) std::printf("%.17g\n", flow->get_finish_time() - start);
    std::printf("# %.9f\n", took.count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  for (const auto* option : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                             "network/weight-S:0", "network/latency-factor:1", "network/bandwidth-factor:1",
                             "maxmin/precision:1e-9", "surf/precision:1e-12"})
    sg4::Engine::set_config(option);
  if (argc < 3) {
    std::fprintf(stderr, "usage: s4u_flows PLATFORM FLOWS\n");
    return 2;
  }
  engine.load_platform(argv[1]);
  const auto phases = read_phases(argv[2]);
  sg4::Actor::create("player", engine.get_all_hosts().front(), [&phases] { play(phases); });
  engine.run();
  return 0;
}
