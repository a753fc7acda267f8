// Entry point of the core. People use `crosscut` (Python), which calls these commands.
#include <signal.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "backends/mpi/mpi.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "commands/commands.hpp"

namespace {

constexpr std::string_view usage = R"(usage: crosscut-core COMMAND [OPTION ...]

  list [--json]        lists patterns and backends; as JSON also generators, parameters, units and help
  network show|check|routes|tables|ways|platform FILE
                       inspects or converts a network description; see `network --help`
  run PATTERN -n N --out DIR [OPTION ...]
                       measures with N ranks on this machine; see `run --help`
  node                 starts the ranks of one node; speaks the session protocol on its standard streams
  mpi-rank             runs one rank under an MPI launcher (crosscut-core-mpi)
  coordinates          prints peers and bytes of a pattern's samples, which large runs do not store
  replay TRACE --on NETWORK
                       predicts how long a traced program takes on NETWORK; see `replay --help`
  --version, --help

Exit status: 0 success; 1 a job or rank failed; 2 usage error; 130 interrupted.
)";

int dispatch(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "list") return crosscut::commands::list_main(argc - 1, argv + 1);
  if (command == "network") return crosscut::commands::network_main(argc - 1, argv + 1);
  if (command == "run") return crosscut::commands::run_main(argc - 1, argv + 1);
  if (command == "node") return crosscut::commands::node_main(argc - 1, argv + 1);
  if (command == "mpi-rank") return crosscut::backends::mpi::mpi_rank_main(argc - 1, argv + 1);
  if (command == "replay") return crosscut::commands::replay_main(argc - 1, argv + 1);
  if (command == "coordinates") return crosscut::commands::coordinates_main(argc - 1, argv + 1);
  if (command == "--version") {
    std::printf("crosscut-core %.*s\n", static_cast<int>(crosscut::version.size()), crosscut::version.data());
    return 0;
  }
  if (command == "--help" || command == "-h") {
    std::fwrite(usage.data(), 1, usage.size(), stdout);
    return 0;
  }
  std::fwrite(usage.data(), 1, usage.size(), stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  try {
    return dispatch(argc, argv);
  } catch (const crosscut::UsageError& error) {
    std::fprintf(stderr, "crosscut-core: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "crosscut-core: %s\n", error.what());
    return 1;
  }
}
