// `crosscut-core network`: shows, checks and converts a network description.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sim/platform.hpp"
#include "base/error.hpp"
#include "base/words.hpp"
#include "commands/commands.hpp"
#include "networks/network_report.hpp"
#include "program/parameters.hpp"
#include "smpi/smpi_options.hpp"

namespace crosscut::commands {
namespace {

constexpr std::string_view help = R"(usage: crosscut-core network COMMAND FILE [OPTION ...]

FILE is a network description (TOML) or the name of one in the catalogue.

  show FILE [--json] [--graph]     distances, bisection, counts, price; --graph: also vertices and edges
  check FILE [--json]              list every mistake, with file and line
  routes FILE SOURCE DESTINATION [--key N] [--json]
                                   the path of a flow: vertices, shared links, latency
  tables FILE --json               IP routing tables of hosts that forward
  ways FILE --json                 all that an emulated cluster is built from: vertices, edges, and the
                                   paths between all hosts as tables of switches and hosts
  platform FILE --out XML [--ranks N] [--ranks-per-host K]
                                   write a SimGrid platform to XML, its host file to XML.hosts,
                                   and options for MPI programs under SMPI to XML.smpi;
                                   without --ranks: as many ranks as the network has room for
)";

struct Asked {
  std::string command;
  std::vector<std::string> names;
  bool json = false, graph = false;
  std::uint64_t key = 0;
  std::int64_t ranks = 0, ranks_per_host = 0;  // 0: the network's own
  std::string out;
};

std::int64_t count_of(std::string_view option, const char* text) {
  constexpr std::int64_t most = 1 << 20;
  const auto count = program::parse_integer(text);
  if (count < 1 || count > most)
    throw UsageError(std::string(option) + " " + text + ": must be from 1 to " + std::to_string(most));
  return count;
}

Asked parse(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json") {
      asked.json = true;
    } else if (word == "--graph") {
      asked.graph = true;
    } else if (word == "--key" && i + 1 < argc) {
      asked.key = static_cast<std::uint64_t>(program::parse_integer(argv[++i]));
    } else if (word == "--ranks" && i + 1 < argc) {
      asked.ranks = count_of(word, argv[++i]);
    } else if (word == "--ranks-per-host" && i + 1 < argc) {
      asked.ranks_per_host = count_of(word, argv[++i]);
    } else if (word == "--out" && i + 1 < argc) {
      asked.out = argv[++i];
    } else if (word.starts_with("-")) {
      throw UsageError("network has no option " + shown(word) + "; see crosscut-core network --help");
    } else if (asked.command.empty()) {
      asked.command = word;
    } else {
      asked.names.emplace_back(word);
    }
  }
  const std::size_t needed = asked.command == "routes" ? 3 : 1;
  if (asked.names.size() != needed)
    throw UsageError("network " + (asked.command.empty() ? "COMMAND" : asked.command) +
                     (needed == 3 ? " needs FILE SOURCE DESTINATION" : " needs one FILE") +
                     "; see crosscut-core network --help");
  return asked;
}

int show(const Asked& asked) {
  const auto network = networks::read_network(asked.names[0]);
  auto report = networks::describe_network(*network);
  if (asked.graph) report.set("graph", networks::describe_graph(*network));
  print(asked.json ? json::write(report, 2) + "\n" : networks::network_text(report));
  return 0;
}

// Prints mistakes as lines "file:line: mistake", in the parser's order. Returns exit status 2 if there are
// any, as for any invalid input.
int check(const Asked& asked) {
  std::vector<std::string> mistakes;
  std::unique_ptr<networks::Network> network;
  try {
    network = networks::read_network(asked.names[0]);
  } catch (const UsageError& error) {
    for (const auto line : split(error.what(), '\n'))
      if (!line.empty()) mistakes.emplace_back(line);
  }
  if (asked.json) {
    json::Array list(mistakes.begin(), mistakes.end());
    json::Object report{{"fine", mistakes.empty()}, {"mistakes", std::move(list)}};
    if (network) {
      report.emplace_back("hosts", network->graph.hosts);
      report.emplace_back("ranks_per_host", std::max(1, network->graph.host(0).ranks));
    }
    print(json::write(report, 2) + "\n");
  } else if (mistakes.empty()) {
    print(asked.names[0] + ": no mistakes\n");
  }
  for (const auto& mistake : mistakes)
    if (!asked.json) std::fprintf(stderr, "%s\n", mistake.c_str());
  return mistakes.empty() ? 0 : 2;
}

int routes(const Asked& asked) {
  const auto network = networks::read_network(asked.names[0]);
  const auto report = networks::describe_route(*network, asked.names[1], asked.names[2], asked.key);
  print(asked.json ? json::write(report, 2) + "\n" : networks::route_text(report));
  return 0;
}

int print_described(const Asked& asked, json::Value (*describe)(const networks::Network&)) {
  print(json::write(describe(*networks::read_network(asked.names[0]))) + "\n");
  return 0;
}

int platform(const Asked& asked) {
  if (asked.out.empty()) throw UsageError("network platform needs --out FILE");
  const auto network = networks::read_network(asked.names[0]);
  const auto per_host =
      asked.ranks_per_host > 0 ? asked.ranks_per_host : std::max(1, network->graph.host(0).ranks);
  const auto room = network->graph.hosts * per_host;
  const auto ranks = asked.ranks > 0 ? asked.ranks : room;
  if (ranks > backends::sim::platform_ranks_max)
    throw UsageError(backends::sim::too_many_for_platform(ranks));
  backends::sim::write_platform(*network, static_cast<Rank>(ranks), static_cast<int>(per_host), asked.out,
                                asked.out + ".hosts");
  smpi::write_options(smpi::smpi_program_options(smpi::common_overheads(*network)), asked.out + ".smpi");
  return 0;
}

}  // namespace

int network_main(int argc, char** argv) {
  if (print_help(argc, argv, help)) return 0;
  const auto asked = parse(argc, argv);
  if (asked.command == "show") return show(asked);
  if (asked.command == "check") return check(asked);
  if (asked.command == "routes") return routes(asked);
  if (asked.command == "tables") return print_described(asked, networks::describe_tables);
  if (asked.command == "ways") return print_described(asked, networks::describe_paths);
  if (asked.command == "platform") return platform(asked);
  constexpr std::string_view commands[] = {"show", "check", "routes", "tables", "ways", "platform"};
  throw UsageError("network has no command " + shown(asked.command) + suggestion(asked.command, commands));
}

}  // namespace crosscut::commands
