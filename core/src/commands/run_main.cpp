// `crosscut-core run`: runs a session of one job on this machine, without Python.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "commands/commands.hpp"
#include "conduct/job.hpp"
#include "launch/launch.hpp"
#include "program/registry.hpp"

namespace crosscut::commands {
namespace {

constexpr std::string_view help = R"(usage: crosscut-core run PATTERN -n RANKS --out DIR [OPTION ...]

  --backend NAME          tcp (default), null, udp, sim, ... (see list)
  --size A[,B...]         message sizes, such as 1KB,1MB; default: the pattern's own
  --phases A-B            measure only these phases
  --repetitions N         (20; sim: 1)    --warm-up N        (1)
  --interval P            repeat until the 95 % interval of every median is at most this wide, such as 5%
  --iterations N          runs of a phase per sample; default: chosen for each size
  --sync barrier|none     --wait auto|block|poll    --cache warm|rotate|cold
  --noise TIME/PERIOD     take the processor away for this long once in each period
  --memory BYTES          limit on the buffers of a rank (2GiB)
  --time-limit SECONDS    --seed N        --timeout SECONDS
  --network FILE          with --backend sim: the network to simulate; -n is then optional
  --ranks-per-host N      with --backend sim; default: as the network says
  --interface ADDRESS     address or interface that the ranks listen on (127.0.0.1)
  --control-interface ADDRESS   for barriers and control; default: as --interface
  --verify --compute --tolerate-failures --resume --force --no-pin
  --NAME VALUE            a parameter of the pattern or backend (see list)

Events go to standard output, one JSON object per line.
)";

struct Asked {
  session::SessionConfig session;
  json::Value job{json::Object{}};
};

bool is_parameter(std::span<const program::Parameter> known, std::string_view name) {
  return std::ranges::find(known, name, &program::Parameter::name) != known.end();
}

json::Value sizes_of(std::string_view text) {
  json::Array sizes;
  for (const auto bytes : program::parse_sizes(text)) sizes.emplace_back(bytes);
  return sizes;
}

json::Value phases_of(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = program::parse_integer(text.substr(0, dash));
  return json::Array{first,
                     dash == std::string_view::npos ? first : program::parse_integer(text.substr(dash + 1))};
}

double fraction_of(std::string_view text) {
  if (text.ends_with('%')) return program::parse_real(text.substr(0, text.size() - 1)) / 100;
  return program::parse_real(text);
}

bool take_flag(std::string_view name, Asked& asked) {
  if (name == "verify" || name == "compute" || name == "resume" || name == "force") {
    asked.job.set(name, true);
  } else if (name == "tolerate-failures") {
    asked.job.set("tolerate_failures", true);
  } else if (name == "no-pin") {
    asked.session.pin = false;
  } else {
    return false;
  }
  return true;
}

bool take_value(std::string_view name, const std::string& value, Asked& asked) {
  if (name == "size") return asked.job.set("sizes", sizes_of(value)), true;
  if (name == "phases") return asked.job.set("phases", phases_of(value)), true;
  if (name == "interval") return asked.job.set("interval", fraction_of(value)), true;
  if (name == "warm-up") return asked.job.set("warm_up", program::parse_integer(value)), true;
  if (name == "memory") return asked.job.set("memory_bytes", program::parse_bytes(value)), true;
  if (name == "time-limit") return asked.job.set("time_limit_seconds", program::parse_seconds(value)), true;
  if (name == "repetitions" || name == "iterations")
    return asked.job.set(name, program::parse_integer(value)), true;
  if (name == "sync" || name == "cache" || name == "noise" || name == "wait" || name == "out" ||
      name == "backend")
    return asked.job.set(name, value), true;
  if (name == "timeout") return asked.session.timeout_seconds = program::parse_seconds(value), true;
  if (name == "interface") return asked.session.interface = value, true;
  if (name == "control-interface") return asked.session.control_interface = value, true;
  if (name == "network") return asked.session.network = value, true;
  if (name == "ranks-per-host")
    return asked.session.ranks_per_host =
               static_cast<int>(std::clamp<std::int64_t>(program::parse_integer(value), 0, 1 << 20)),
           true;
  return false;
}

// Takes a parameter of the pattern or the backend. `--seed` always sets the job's seed, too.
void take_parameter(std::string_view name, const std::string& value, const program::PatternInfo& pattern,
                    const program::BackendInfo& backend, Asked& asked, json::Object& pattern_given,
                    json::Object& backend_given) {
  if (name == "seed") asked.job.set("seed", program::parse_integer(value));
  if (is_parameter(pattern.parameters, name)) {
    pattern_given.emplace_back(std::string(name), value);
  } else if (is_parameter(backend.parameters, name)) {
    backend_given.emplace_back(std::string(name), value);
  } else if (name != "seed") {
    throw UsageError("unknown option --" + std::string(name) + " for pattern " + std::string(pattern.name) +
                     " and backend " + std::string(backend.name) + "; see crosscut-core run --help and list");
  }
}

Asked parse(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-')
    throw UsageError("run needs the name of a pattern first; see crosscut-core run --help");
  Asked asked;
  asked.session.ranks = 0;
  const auto& pattern = program::find_pattern(argv[1]);
  asked.job.set("pattern", pattern.name);
  std::vector<std::pair<std::string_view, std::string>> rest;
  for (int i = 2; i < argc; ++i) {
    std::string_view word = argv[i];
    std::string value;
    if (word == "-n") word = "--ranks";
    if (!word.starts_with("--")) throw UsageError("not an option: '" + std::string(word) + "'");
    word.remove_prefix(2);
    if (take_flag(word, asked)) continue;
    if (const auto equals = word.find('='); equals != std::string_view::npos) {
      value = word.substr(equals + 1);
      word = word.substr(0, equals);
    } else if (++i < argc) {
      value = argv[i];
    } else {
      throw UsageError("option --" + std::string(word) + " needs a value");
    }
    if (word == "ranks") {
      const auto ranks = program::parse_integer(value);
      if (ranks < 2 || ranks > 1'000'000) throw UsageError("-n " + value + ": must be from 2 to 1000000");
      asked.session.ranks = static_cast<Rank>(ranks);
    } else if (!take_value(word, value, asked)) {
      rest.emplace_back(word, value);
    }
  }
  const auto* named = asked.job.find("backend");
  const auto& backend = program::find_backend(named != nullptr ? named->string() : "tcp");
  json::Object pattern_given, backend_given;
  for (const auto& [name, value] : rest) {
    take_parameter(name, value, pattern, backend, asked, pattern_given, backend_given);
  }
  asked.job.set("pattern_parameters", std::move(pattern_given));
  asked.job.set("backend_parameters", std::move(backend_given));
  asked.session.backend = backend.name;
  if (asked.session.ranks == 0 && asked.session.network.empty()) throw UsageError("run needs -n RANKS");
  if (asked.job.find("out") == nullptr) throw UsageError("run needs --out DIR, the directory of the run");
  asked.session.count = asked.session.ranks;
  asked.session.secret = session::random_secret();
  json::Array words;
  words.emplace_back("crosscut-core");
  for (int i = 0; i < argc; ++i) words.emplace_back(argv[i]);
  asked.job.set("metadata", json::Object{{"command_line", std::move(words)}});
  return asked;
}

}  // namespace

int run_main(int argc, char** argv) {
  if (print_help(argc, argv, help)) return 0;
  const auto asked = parse(argc, argv);
  conduct::parse_job(asked.job);  // reject a bad job before any rank starts
  const Pipe requests = make_pipe();
  const auto lines = json::write(json::Object{{"do", "run"}, {"job", asked.job}}) + "\n{\"do\":\"end\"}\n";
  if (lines.size() > 60'000)
    throw UsageError("the options are too long for one job; use `crosscut run` instead");
  if (::write(requests.write.get(), lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
    throw_errno("write the job");
  return launch::launch(asked.session, {requests.read.get(), STDOUT_FILENO, -1}, session::run_rank);
}

}  // namespace crosscut::commands
