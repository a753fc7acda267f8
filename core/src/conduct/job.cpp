#include "conduct/job.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/json_members.hpp"
#include "base/words.hpp"
#include "measure/noise.hpp"
#include "program/in_flight.hpp"

namespace crosscut::conduct {
namespace {

constexpr std::size_t longest_text = 4096;                        // PATH_MAX
constexpr std::size_t longest_parameter = std::size_t{64} << 20;  // lists of routes: 12 bytes per route
constexpr std::size_t most_parameters = 256, most_sizes = 4096;
constexpr std::int64_t largest_size = std::int64_t{1} << 40;
constexpr std::int64_t most_phases = std::int64_t{1} << 40;
constexpr std::int64_t most_repetitions = 1'000'000'000;
constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(const std::string& problem) { throw UsageError(problem); }

std::string text(const json::Value& value, std::size_t longest = longest_text) {
  if (value.string().size() > longest) refuse("longer than " + std::to_string(longest) + " bytes");
  return json::plain_text(value);
}

auto choice(const std::vector<std::string>& choices) {
  return [choices](const json::Value& value) {
    if (std::ranges::find(choices, value.string()) != choices.end()) return value.string();
    refuse(json::write(value) + " is not one of: " + joined(choices));
  };
}

auto up_to(double most) {
  return [most](const json::Value& value) { return json::real_within(value, 0, most); };
}

std::map<std::string, std::string> parameters(const json::Value& value) {
  std::map<std::string, std::string> result;
  if (value.object().size() > most_parameters) refuse("too many parameters");
  for (const auto& [name, setting] : value.object()) {
    try {
      result[name] = text(setting, longest_parameter);
    } catch (const UsageError& error) {
      refuse("parameter " + json::write(json::Value(name)) + ": " + error.what());
    }
  }
  return result;
}

std::vector<std::int64_t> sizes(const json::Value& value) {
  if (value.array().size() > most_sizes) refuse("more than " + std::to_string(most_sizes) + " sizes");
  std::vector<std::int64_t> result;
  for (const json::Value& size : value.array()) {
    result.push_back(json::integer_within(size, 0, largest_size));
    if (std::ranges::count(result, result.back()) > 1)
      refuse("size " + std::to_string(result.back()) + " is named twice");
  }
  return result;
}

std::optional<std::pair<std::int64_t, std::int64_t>> phases(const json::Value& value) {
  if (value.is_null()) return std::nullopt;
  const json::Array& ends = value.array();
  if (ends.size() != 2) refuse("expected the first and the last phase, such as [1, 30]");
  const std::int64_t first = json::integer_within(ends[0], 1, most_phases);
  return std::pair(first, json::integer_within(ends[1], first, most_phases));
}

std::int64_t repetitions(const json::Value& value) {
  return value.is_null() ? 0 : json::integer_within(value, 1, most_repetitions);
}

json::Value metadata(const json::Value& value) {
  static_cast<void>(value.object());  // throws if it is not an object
  return value;
}

json::Value repetitions_json(std::int64_t repetitions) {
  return repetitions > 0 ? json::Value(repetitions) : json::Value();
}

using json::member;
using json::within;
const auto short_text = [](const json::Value& value) { return text(value); };
const json::Members<Job> members{
    member("pattern", &Job::pattern, short_text),
    member("pattern_parameters", &Job::pattern_parameters, parameters),
    member("backend", &Job::backend, short_text),
    member("backend_parameters", &Job::backend_parameters, parameters),
    member("sizes", &Job::sizes, sizes),
    member("phases", &Job::phases, phases),
    member("repetitions", &Job::repetitions, repetitions, repetitions_json),
    member("minimum_repetitions", &Job::minimum_repetitions, within(1, most_repetitions)),
    member("interval", &Job::interval, up_to(10)),
    member("warm_up", &Job::warm_up, within(0, 1'000'000)),
    member("iterations", &Job::iterations, within(0, most_repetitions)),
    member("window", &Job::window, within(0, program::widest_window)),
    member("rails", &Job::rails, within(0, program::most_rails)),
    member("sync", &Job::sync, choice({"barrier", "none"})),
    member("cache", &Job::cache, choice({"warm", "rotate", "cold"})),
    member("noise", &Job::noise, short_text),
    member("wait", &Job::wait, choice({"auto", "block", "poll"})),
    member("seed", &Job::seed, within(0, unbounded)),
    member("order_seed", &Job::order_seed, within(0, unbounded)),
    member("memory_bytes", &Job::memory_bytes, within(0, unbounded)),
    member("verify", &Job::verify),
    member("compute", &Job::compute),
    member("tolerate_failures", &Job::tolerate_failures),
    member("keep_connections", &Job::keep_connections),
    member("time_limit_seconds", &Job::time_limit_seconds, up_to(1e9)),
    member("raw_budget_bytes", &Job::raw_budget_bytes, within(0, unbounded)),
    member("out", &Job::out, short_text),
    member("resume", &Job::resume),
    member("force", &Job::force),
    member("metadata", &Job::metadata, metadata),
};

// The 95 % interval of a median needs 6 values: the extremes of 5 values enclose the median with a
// probability of only 1 - 2 / 2^5 = 93.75 %.
constexpr std::int64_t least_for_interval = 6;

void check_together(const Job& job) {
  if (job.pattern.empty()) refuse("job: missing member \"pattern\"");
  if (job.cache == "rotate" && job.verify)
    refuse("--verify looks at one buffer, so it cannot be combined with --cache rotate");
  if (job.cache == "cold" && job.iterations > 1)
    refuse("--cache cold measures each phase once for a sample: leave --iterations out");
  static_cast<void>(measure::Noise(job.noise, 0, 0));  // throws if it cannot be read
  if (job.interval == 0) return;
  if (job.minimum_repetitions < least_for_interval)
    refuse("--minimum-repetitions: a 95 % interval of the median needs at least 6");
  if (job.repetitions > 0 && job.repetitions < job.minimum_repetitions)
    refuse("--repetitions " + std::to_string(job.repetitions) +
           " (the maximum, with --interval) is less than --minimum-repetitions " +
           std::to_string(job.minimum_repetitions));
}

}  // namespace

Job parse_job(const json::Value& value) {
  Job job;
  json::read_members(job, value, members, "job");
  check_together(job);
  return job;
}

json::Value to_json(const Job& job) { return json::write_members(job, members); }

std::int32_t window_of(const Job& job) {
  return job.window > 0 ? static_cast<std::int32_t>(job.window) : program::find_pattern(job.pattern).window;
}

std::unique_ptr<program::Pattern> make_pattern(const Job& job) {
  const auto& info = program::find_pattern(job.pattern);
  return program::in_flight(
      info.make(program::Parameters(info.parameters, job.pattern_parameters, "pattern " + job.pattern)),
      window_of(job), static_cast<std::int32_t>(job.rails));
}

const program::BackendInfo& usable_backend(const Job& job) {
  const auto& backend = program::find_backend(job.backend);
  if (!backend.why_unavailable().empty())
    throw UsageError("backend " + job.backend +
                     " is not available: " + std::string(backend.why_unavailable()));
  return backend;
}

}  // namespace crosscut::conduct
