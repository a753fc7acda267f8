// `crosscut-core coordinates`: prints the coordinates `peer` and `bytes` of a run that does not store them.
// Reads a job (JSON) from standard input; writes one line of JSON per phase.
#include <iostream>
#include <iterator>
#include <map>

#include "base/error.hpp"
#include "commands/commands.hpp"
#include "conduct/job_run.hpp"
#include "program/parameters.hpp"

namespace crosscut::commands {
namespace {

constexpr std::string_view help = R"(usage: crosscut-core coordinates --ranks N [--first P] [--last Q] < JOB

Prints the peers and bytes of the samples of phases P to Q (default: all), one JSON object per line.
JOB is the job of a session's request, or the attribute `job` of a run.
)";

}  // namespace

int coordinates_main(int argc, char** argv) {
  if (print_help(argc, argv, help)) return 0;
  std::int64_t ranks = 0, first = 1, last = 0;
  const std::map<std::string_view, std::int64_t*> options{
      {"--ranks", &ranks}, {"--first", &first}, {"--last", &last}};
  for (int i = 1; i < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end())
      throw UsageError("coordinates takes --ranks, --first and --last, not " + std::string(argv[i]));
    if (i + 1 == argc) throw UsageError("option " + std::string(argv[i]) + " needs a value");
    *option->second = program::parse_integer(argv[i + 1]);
  }
  if (ranks < 2 || ranks > 10'000'000) throw UsageError("coordinates needs --ranks N, from 2 to 10000000");
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto job = conduct::parse_job(json::parse(text));
  const auto pattern = conduct::make_pattern(job);
  const auto count = static_cast<Rank>(ranks);
  if (const auto why = pattern->refuse(count); !why.empty())
    throw UsageError("pattern " + job.pattern + ": " + why);
  const auto size = job.sizes.empty() ? pattern->default_sizes().front() : job.sizes.front();
  const auto extent = pattern->extent(count, size);
  if (last == 0) last = extent.phases;
  if (first < 1 || last > extent.phases || first > last)
    throw UsageError("there are phases 1 to " + std::to_string(extent.phases));
  for (auto index = first; index <= last; ++index) {
    const auto [peer, bytes] =
        conduct::samples_of(*pattern->phase(count, size, index - 1), count, extent.slots, size);
    print(json::write(json::Object{{"phase", index},
                                   {"peer", json::Array(peer.begin(), peer.end())},
                                   {"bytes", json::Array(bytes.begin(), bytes.end())}}) +
          "\n");
  }
  return 0;
}

}  // namespace crosscut::commands
