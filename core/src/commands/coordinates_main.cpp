// `crosscut-core coordinates`: prints the `peer` and `bytes` of a run in which they are implied. Reads a job
// (JSON) on standard input; writes one JSON line a phase.
#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "commands/commands.hpp"
#include "conduct/job.hpp"
#include "program/parameters.hpp"
#include "program/registry.hpp"

namespace crosscut::commands {

int coordinates_main(int argc, char** argv) {
  std::int64_t ranks = 0, first = 1, last = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--ranks") {
      ranks = program::parse_integer(argv[i + 1]);
    } else if (option == "--first") {
      first = program::parse_integer(argv[i + 1]);
    } else if (option == "--last") {
      last = program::parse_integer(argv[i + 1]);
    } else {
      throw UsageError("coordinates knows --ranks, --first and --last, not " + std::string(option));
    }
  }
  if (ranks < 2 || ranks > 10'000'000) throw UsageError("coordinates needs --ranks N, from 2 to 10000000");
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto job = conduct::parse_job(json::parse(text));
  const auto& info = program::find_pattern(job.pattern);
  const auto pattern =
      info.make(program::Parameters(info.parameters, job.pattern_parameters, "pattern " + job.pattern));
  const auto count = static_cast<Rank>(ranks);
  if (const auto why = pattern->refuse(count); !why.empty())
    throw UsageError("pattern " + job.pattern + ": " + why);
  const auto size = job.sizes.empty() ? pattern->default_sizes().front() : job.sizes.front();
  const auto extent = pattern->extent(count, size);
  if (last == 0) last = extent.phases;
  if (first < 1 || last > extent.phases || first > last)
    throw UsageError("there are phases 1 to " + std::to_string(extent.phases));
  std::vector<program::Op> ops;
  for (auto index = first; index <= last; ++index) {
    const auto phase = pattern->phase(count, size, index - 1);
    json::Array peer(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(extent.slots), -1);
    json::Array bytes(peer.size(), -1);
    for (Rank rank = 0; rank < count; ++rank) {
      ops.clear();
      phase->emit(rank, ops);
      for (const auto& op : ops) {
        if (op.slot < 0) continue;
        const auto at = static_cast<std::size_t>(rank) * static_cast<std::size_t>(extent.slots) +
                        static_cast<std::size_t>(op.slot);
        peer[at] = op.peer;
        const auto its = op.sample_bytes >= 0 ? op.sample_bytes : op.bytes;
        if (its != size) bytes[at] = its;
      }
    }
    const auto line =
        json::write(json::Object{{"phase", index}, {"peer", std::move(peer)}, {"bytes", std::move(bytes)}}) +
        "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  return 0;
}

}  // namespace crosscut::commands
