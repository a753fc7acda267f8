// `crosscut-core replay`: predicts how long a traced program takes on a described network.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/words.hpp"
#include "commands/commands.hpp"
#include "program/parameters.hpp"
#include "replay/replay.hpp"

namespace crosscut::commands {
namespace {

constexpr std::string_view help = R"(usage: crosscut-core replay TRACE --on NETWORK [OPTION ...]

TRACE lists the ranks' trace files, one per line. They are in SimGrid's time-independent format, with
collective calls expanded into messages. Prints one JSON object: when each rank ends, in seconds.

  --ranks-per-host N        default: as the network says
  --order P,P,...           place of each rank; place p is on host p / ranks per host (0,1,2,...)
  --operations-per-second R speed of a processor (1e9)
  --eager SIZE              longer messages wait for their receive (none)
  --inject SIZE             senders of longer messages wait until the receiver, in MPI, has taken them
                            in and answered (none)
  --send-buffer SIZE        bytes of a message up to --inject that may still be unsent when its send
                            returns (unbounded)
  --header SIZE             bytes sent ahead of each message (0)
  --noise TIME              mean of the exponentially distributed extra delay of each receive (0)
  --noise-seed N            another draw of these delays for each N (0)
  --latency F --bandwidth F --overhead F
                            multiply the network's value by F; --bandwidth may be inf
  --alone                   messages do not compete for links
  --deep-queues             switches lose nothing: senders share a link's capacity in proportion
                            to their rates
)";

struct Asked {
  std::string trace, network;
  std::int64_t ranks_per_host = 0;
  std::vector<Rank> order;  // [rank] its place; empty: its own number
  replay::ReplayModel model;
};

double factor(std::string_view option, std::string_view text) {
  const auto value = text == "inf" ? std::numeric_limits<double>::infinity() : program::parse_real(text);
  if (!(value >= 0) || (option == "--bandwidth" && value == 0) || (option != "--bandwidth" && value > 1e15))
    throw UsageError(std::string(option) + " " + shown(text) +
                     (option == "--bandwidth" ? ": must be a number above 0, or inf"
                                              : ": must be a number from 0 to 1e15"));
  return value;
}

std::vector<Rank> order(std::string_view text) {
  std::vector<Rank> places;
  for (const auto word : split(text, ',')) {
    const auto place = program::parse_integer(word);
    if (place < 0 || place >= 1 << 30) throw UsageError("--order: " + shown(word) + " is not a place");
    places.push_back(static_cast<Rank>(place));
  }
  return places;
}

// Throws UsageError unless each rank has a place of its own.
void check_order(std::vector<Rank> order, Rank ranks, std::int64_t room) {
  if (std::ssize(order) != ranks)
    throw UsageError("--order names " + std::to_string(order.size()) + " places, but the trace has " +
                     std::to_string(ranks) + " ranks");
  std::sort(order.begin(), order.end());
  if (order.back() >= room)
    throw UsageError("--order: there is no place " + std::to_string(order.back()) + ", only 0 to " +
                     std::to_string(room - 1));
  if (const auto twice = std::adjacent_find(order.begin(), order.end()); twice != order.end())
    throw UsageError("--order: two ranks are at place " + std::to_string(*twice));
}

double rate(std::string_view text) {
  const auto value = program::parse_real(text);
  if (!(value >= 1e-9 && value <= 1e30))
    throw UsageError("--operations-per-second " + shown(text) + ": must be from 1e-9 to 1e30");
  return value;
}

void set(Asked& asked, std::string_view option, std::string_view text) {
  auto& model = asked.model;
  const std::map<std::string_view, double*> bytes{{"--eager", &model.eager_bytes},
                                                  {"--inject", &model.inject_bytes},
                                                  {"--send-buffer", &model.send_buffer_bytes},
                                                  {"--header", &model.header_bytes}};
  const std::map<std::string_view, double*> factors{
      {"--latency", &model.latency}, {"--bandwidth", &model.bandwidth}, {"--overhead", &model.overhead}};
  if (option == "--on") {
    asked.network = text;
  } else if (option == "--ranks-per-host") {
    asked.ranks_per_host = program::parse_integer(text);
    if (asked.ranks_per_host < 0 || asked.ranks_per_host > 1 << 20)
      throw UsageError("--ranks-per-host " + shown(text) +
                       ": must be from 0 (as the network says) to 1048576");
  } else if (option == "--order") {
    asked.order = order(text);
  } else if (option == "--noise-seed") {
    asked.model.noise_seed = static_cast<std::uint64_t>(program::parse_integer(text));
  } else if (option == "--operations-per-second") {
    model.seconds_per_operation = 1 / rate(text);
  } else if (option == "--noise") {
    model.noise_seconds = program::parse_seconds(text);
  } else if (bytes.contains(option)) {
    *bytes.at(option) = static_cast<double>(program::parse_bytes(text));
  } else if (factors.contains(option)) {
    *factors.at(option) = factor(option, text);
  } else {
    throw UsageError("replay has no option " + shown(option) + "; see crosscut-core replay --help");
  }
}

Asked parse(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--alone") {
      asked.model.alone = true;
    } else if (word == "--deep-queues") {
      asked.model.deep_queues = true;
    } else if (word.starts_with("-")) {
      if (i + 1 == argc) throw UsageError(std::string(word) + " needs a value");
      set(asked, word, argv[++i]);
    } else if (asked.trace.empty()) {
      asked.trace = word;
    } else {
      throw UsageError("replay takes one TRACE, but " + shown(word) + " was given too");
    }
  }
  if (asked.trace.empty() || asked.network.empty()) throw UsageError("replay needs TRACE --on NETWORK");
  return asked;
}

}  // namespace

int replay_main(int argc, char** argv) {
  if (print_help(argc, argv, help)) return 0;
  auto asked = parse(argc, argv);
  const auto network = networks::read_network(asked.network);
  const auto trace = replay::read_replay_trace(asked.trace);
  const auto per_host =
      asked.ranks_per_host > 0 ? asked.ranks_per_host : std::max(1, network->graph.host(0).ranks);
  if (network->graph.hosts * per_host < trace.ranks())
    throw UsageError("network " + network->name + " has room for " +
                     std::to_string(network->graph.hosts * per_host) + " ranks, but the trace has " +
                     std::to_string(trace.ranks()) + "; raise --ranks-per-host");
  const auto& protocol = network->protocol;
  if (protocol.mtu > protocol.headers) {
    asked.model.segment_bytes = protocol.mtu - protocol.headers;
    asked.model.framing_bytes = protocol.headers + protocol.framing;
  }
  const backends::sim::NetworkPaths blocks(*network, static_cast<int>(per_host));
  if (asked.order.empty()) {
    asked.order.resize(static_cast<std::size_t>(trace.ranks()));
    std::iota(asked.order.begin(), asked.order.end(), 0);
  }
  check_order(asked.order, trace.ranks(), network->graph.hosts * per_host);
  const backends::sim::OrderedPaths paths(blocks, std::move(asked.order));
  replay::Replay replay(trace, paths, asked.model);
  const auto times = replay.run();
  json::Array ended(times.ended.begin(), times.ended.end());
  print(json::write(json::Object{{"seconds", *std::max_element(times.ended.begin(), times.ended.end())},
                                 {"ended", std::move(ended)}}) +
        "\n");
  return 0;
}

}  // namespace crosscut::commands
