#include "smpi/smpi_options.hpp"

#include <array>
#include <cstdio>
#include <span>

#include "base/error.hpp"
#include "base/file.hpp"

namespace crosscut::smpi {
namespace {

// SimGrid's own models scale rates and latencies by factors fitted to a Gigabit Ethernet cluster
// (network/model SMPI, LV08), weigh flows by their length (weight-S), add the load of acknowledgements
// (crosstraffic) and bound a flow by a TCP window (TCP-gamma); reading the clock costs time. All of that is
// switched off here. The precision, in seconds, is the smallest difference between two times: at 400 Gbit/s a
// kilobyte takes 20 ns.
//
// optim Full: with the default, Lazy, SimGrid 3.32 mishandles flows that start at the same moment behind the
// same latency: all but the first pass as if no link limited them. This was seen on four hosts and one
// switch, on a platform with the latency as a FATPIPE link; the tests would detect it again.
const SmpiOptions pure{"network/model:CM02",  "network/optim:Full", "network/crosstraffic:0",
                       "network/TCP-gamma:0", "network/weight-S:0", "surf/precision:1e-12",
                       "smpi/wtime:0"};

// Returns SMPI's notation for `seconds` per message of 0 bytes or more, and nothing per byte.
std::string for_each_message(const char* option, double seconds) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s:0:%.17g:0", option, seconds);
  return text.data();
}

}  // namespace

Overheads common_overheads(const networks::Network& network) {
  const auto& first = network.graph.host(0);
  for (networks::Vertex host = 1; host < network.graph.hosts; ++host) {
    const auto& other = network.graph.host(host);
    if (other.send_overhead == first.send_overhead && other.receive_overhead == first.receive_overhead)
      continue;
    throw UsageError("network " + network.name + ": hosts " + network.graph.name(0) + " and " +
                     network.graph.name(host) +
                     " have different send_overhead or receive_overhead; --engine smpi needs the same values "
                     "for all hosts");
  }
  return {.send = first.send_overhead, .receive = first.receive_overhead};
}

SmpiOptions smpi_program_options(const Overheads& overheads) {
  auto options = pure;
  if (overheads.send > 0) {
    options.push_back(for_each_message("smpi/os", overheads.send));
    options.push_back(for_each_message("smpi/ois", overheads.send));
  }
  if (overheads.receive > 0) options.push_back(for_each_message("smpi/or", overheads.receive));
  return options;
}

SmpiOptions smpi_player_options(std::int64_t eager_bytes) {
  auto options = pure;
  const auto below = std::to_string(eager_bytes + 1);
  options.insert(options.end(),
                 {"smpi/test:0",  // MPI_Waitsome would take a tenth of a millisecond
                  "smpi/simulate-computation:no", "smpi/host-speed:1Gf", "smpi/shared-malloc:global",
                  "smpi/async-small-thresh:" + below, "smpi/send-is-detached-thresh:" + below});
  return options;
}

void write_options(const SmpiOptions& options, const std::filesystem::path& file) {
  std::string text;
  for (const auto& option : options) text += option + "\n";
  replace_file(file, std::as_bytes(std::span(text)));
}

}  // namespace crosscut::smpi
