#include <cmath>
#include <cstdio>
#include <exception>

#include "npb/common/report.hpp"
#include "program/application.hpp"

namespace crosscut::program {
namespace {

constexpr int verified_status = 0;
constexpr int failed_status = 1;
constexpr int usage_status = 2;

// Called by all ranks; rank 0 prints.
int refuse(const Application& application, const Communicator& world, const std::string& why) {
  if (world.rank() == 0) std::fprintf(stderr, "%s: error: %s\n", application.program().c_str(), why.c_str());
  return usage_status;
}

std::string usage(const Application& application, const Arguments& arguments) {
  return "usage: mpiexec -n RANKS " + application.program() + " [OPTION VALUE]...\n\n" +
         std::string(application.about().title) +
         "\n\n"
         "  --class CLASS\n        S (the default), W, A, B or C: the size; options below change it\n" +
         arguments.help() +
         "  --json\n        one JSON object on standard output, in place of text for people\n"
         "\nexit status: 0 verified; 1 not verified, or MPI failed; 2 wrong usage\n";
}

int run(Application& application, Communicator& world, const Common& common) {
  if (const std::string why = application.unsuitable(world.size()); !why.empty())
    return refuse(application, world, why);
  Outcome outcome = application.run(world);
  const auto seconds = world.gather(outcome.seconds);
  auto communication_seconds = world.gather(outcome.communication_seconds);
  if (world.rank() != 0) return verified_status;  // rank 0 reports for all
  std::erase_if(communication_seconds, [](double value) { return std::isnan(value); });
  const npb::Report report = npb::make_report(application.about(), common.problem_class, std::move(outcome),
                                              seconds, communication_seconds);
  std::fputs((common.json ? npb::as_json(report) + '\n' : npb::for_people(report)).c_str(), stdout);
  return report.verified() ? verified_status : failed_status;
}

int start(std::span<const char* const> words) {
  Communicator world = Communicator::world();
  const auto application = make_application();
  try {
    Arguments arguments;
    application->declare(arguments);
    const auto parsed =
        arguments.parse(words, [&](ProblemClass problem_class) { application->preset(problem_class); });
    if (const auto* problem = std::get_if<UsageProblem>(&parsed))
      return refuse(*application, world, problem->text + "; see --help");
    if (std::holds_alternative<HelpAsked>(parsed)) {
      if (world.rank() == 0) std::fputs(usage(*application, arguments).c_str(), stdout);
      return verified_status;
    }
    return run(*application, world, std::get<Common>(parsed));
  } catch (const Refusal& error) {
    return refuse(*application, world, error.what());
  } catch (const std::exception& error) {
    // The other ranks may wait for this one, and only MPI can end them.
    std::fprintf(stderr, "%s: rank %d: %s\n", application->program().c_str(), world.rank(), error.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, failed_status);
    return failed_status;
  }
}

}  // namespace
}  // namespace crosscut::program

int main(int argc, char** argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
    std::fputs("crosscut: MPI did not start\n", stderr);
    return 1;
  }
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const std::vector<const char*> typed(words.begin() + (argc > 0 ? 1 : 0), words.end());
  const int status = crosscut::program::start(typed);
  std::fflush(stdout);
  MPI_Finalize();
  return status;
}
