// The program of every benchmark: one is linked to it as `benchmark`.
#include <cstdio>
#include <exception>

#include "npb/common/benchmark.hpp"
#include "npb/common/options.hpp"
#include "npb/common/report.hpp"

namespace crosscut::npb {
namespace {

constexpr int verified_status = 0;
constexpr int failed_status = 1;
constexpr int usage_status = 2;

// For all ranks, said by one.
int refuse(const Communicator& world, const std::string& why) {
  if (world.rank() == 0)
    std::fprintf(stderr, "crosscut-npb-%s: error: %s\n", std::string(benchmark.name).c_str(), why.c_str());
  return usage_status;
}

int run(Communicator& world, const Options& options) {
  if (const std::string why = benchmark.unsuitable(world.size(), options); !why.empty())
    return refuse(world, why);
  Outcome outcome = benchmark.run(world, options);
  const auto seconds = world.gather(outcome.seconds);
  const auto communication_seconds = world.gather(outcome.communication_seconds);
  if (world.rank() != 0) return verified_status;  // rank 0 speaks for all
  const Report report = make_report(benchmark, options, std::move(outcome), seconds, communication_seconds);
  std::fputs((options.json ? as_json(report) + '\n' : for_people(report)).c_str(), stdout);
  return report.verified() ? verified_status : failed_status;
}

int start(std::span<const char* const> words) {
  Communicator world = Communicator::world();
  try {
    const auto parsed = parse_options(words, benchmark.takes_grid);
    if (const auto* problem = std::get_if<UsageProblem>(&parsed))
      return refuse(world, problem->text + "; see --help");
    if (std::holds_alternative<HelpAsked>(parsed)) {
      if (world.rank() == 0) std::fputs(usage(benchmark).c_str(), stdout);
      return verified_status;
    }
    return run(world, std::get<Options>(parsed));
  } catch (const std::exception& error) {
    // One rank's trouble: the others wait for it, and only MPI can end them.
    std::fprintf(stderr, "crosscut-npb-%s: rank %d: %s\n", std::string(benchmark.name).c_str(), world.rank(),
                 error.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, failed_status);
    return failed_status;
  }
}

}  // namespace
}  // namespace crosscut::npb

int main(int argc, char** argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
    std::fputs("crosscut-npb: MPI did not start\n", stderr);
    return 1;
  }
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const std::vector<const char*> typed(words.begin() + (argc > 0 ? 1 : 0), words.end());
  const int status = crosscut::npb::start(typed);
  std::fflush(stdout);
  MPI_Finalize();
  return status;
}
