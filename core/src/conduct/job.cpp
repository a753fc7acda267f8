#include "conduct/job.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"

namespace crosscut::conduct {
namespace {

constexpr std::size_t longest_text = 4096;                        // PATH_MAX
constexpr std::size_t longest_parameter = std::size_t{64} << 20;  // lists of routes: 12 bytes a route
constexpr std::size_t most_parameters = 256, most_sizes = 4096;
constexpr std::int64_t largest_size = std::int64_t{1} << 40;
constexpr std::int64_t most_phases = std::int64_t{1} << 40;
constexpr std::int64_t most_repetitions = 1'000'000'000;
constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(const std::string& problem) { throw UsageError(problem); }

std::int64_t bounded(const json::Value& value, std::int64_t least, std::int64_t most) {
  const std::int64_t number = value.integer();
  if (number < least || number > most)
    refuse(std::to_string(number) + " is not within " + std::to_string(least) + " to " +
           std::to_string(most));
  return number;
}

double bounded_real(const json::Value& value, double most) {
  const double number = value.number();
  if (!(number >= 0 && number <= most))
    refuse(json::write(value) + " is not within 0 to " + json::write(json::Value(most)));
  return number;
}

// A NUL would silently cut a path short on its way into the operating system.
std::string text(const json::Value& value, std::size_t longest = longest_text) {
  const std::string& words = value.string();
  if (words.size() > longest) refuse("text of more than " + std::to_string(longest) + " bytes");
  if (words.find('\0') != std::string::npos) refuse("text with a NUL character");
  return words;
}

std::string choice(const json::Value& value, std::initializer_list<std::string_view> choices) {
  const std::string& word = value.string();
  if (std::ranges::find(choices, word) != choices.end()) return word;
  std::string list;
  for (const std::string_view one : choices) list.append(list.empty() ? "" : ", ").append(one);
  refuse(json::write(value) + " is none of: " + list);
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
    result.push_back(bounded(size, 0, largest_size));
    if (std::ranges::count(result, result.back()) > 1)
      refuse("size " + std::to_string(result.back()) + " is named twice");
  }
  return result;
}

std::optional<std::pair<std::int64_t, std::int64_t>> phases(const json::Value& value) {
  if (value.is_null()) return std::nullopt;
  const json::Array& ends = value.array();
  if (ends.size() != 2) refuse("expected the first and the last phase, as [1, 30]");
  const std::int64_t first = bounded(ends[0], 1, most_phases);
  return std::pair(first, bounded(ends[1], first, most_phases));
}

std::int64_t repetitions(const json::Value& value) {
  return value.is_null() ? 0 : bounded(value, 1, most_repetitions);
}

json::Value metadata(const json::Value& value) {
  static_cast<void>(value.object());  // throws if it is not an object
  return value;
}

struct Member {
  std::string_view name;
  void (*read)(Job&, const json::Value&);
};

using V = const json::Value&;
constexpr std::array members = {
    Member{"pattern", [](Job& job, V v) { job.pattern = text(v); }},
    Member{"pattern_parameters", [](Job& job, V v) { job.pattern_parameters = parameters(v); }},
    Member{"backend", [](Job& job, V v) { job.backend = text(v); }},
    Member{"backend_parameters", [](Job& job, V v) { job.backend_parameters = parameters(v); }},
    Member{"sizes", [](Job& job, V v) { job.sizes = sizes(v); }},
    Member{"phases", [](Job& job, V v) { job.phases = phases(v); }},
    Member{"repetitions", [](Job& job, V v) { job.repetitions = repetitions(v); }},
    Member{"minimum_repetitions",
           [](Job& job, V v) { job.minimum_repetitions = bounded(v, 1, most_repetitions); }},
    Member{"interval", [](Job& job, V v) { job.interval = bounded_real(v, 10); }},
    Member{"warm_up", [](Job& job, V v) { job.warm_up = bounded(v, 0, 1'000'000); }},
    Member{"iterations", [](Job& job, V v) { job.iterations = bounded(v, 0, most_repetitions); }},
    Member{"sync",
           [](Job& job, V v) {
             job.sync = choice(v, {"barrier", "none"});
           }},
    Member{"wait",
           [](Job& job, V v) {
             job.wait = choice(v, {"auto", "block", "poll"});
           }},
    Member{"seed", [](Job& job, V v) { job.seed = static_cast<std::uint64_t>(bounded(v, 0, unbounded)); }},
    Member{"memory_bytes", [](Job& job, V v) { job.memory_bytes = bounded(v, 0, unbounded); }},
    Member{"verify", [](Job& job, V v) { job.verify = v.boolean(); }},
    Member{"compute", [](Job& job, V v) { job.compute = v.boolean(); }},
    Member{"tolerate_failures", [](Job& job, V v) { job.tolerate_failures = v.boolean(); }},
    Member{"time_limit_seconds", [](Job& job, V v) { job.time_limit_seconds = bounded_real(v, 1e9); }},
    Member{"raw_budget_bytes", [](Job& job, V v) { job.raw_budget_bytes = bounded(v, 0, unbounded); }},
    Member{"out", [](Job& job, V v) { job.out = text(v); }},
    Member{"resume", [](Job& job, V v) { job.resume = v.boolean(); }},
    Member{"force", [](Job& job, V v) { job.force = v.boolean(); }},
    Member{"metadata", [](Job& job, V v) { job.metadata = metadata(v); }},
};

// The 95 % interval of a median needs 6 values: with 5, the smallest and the largest cover it with
// 1 - 2 / 2^5 = 93.75 % only.
constexpr std::int64_t least_for_interval = 6;

void check_together(const Job& job) {
  if (job.pattern.empty()) refuse("job: missing member \"pattern\"");
  if (job.interval == 0) return;
  if (job.minimum_repetitions < least_for_interval)
    refuse("job: minimum_repetitions: at least 6 repetitions are needed for a 95 % interval of the median");
  if (job.repetitions > 0 && job.repetitions < job.minimum_repetitions)
    refuse("job: repetitions: with an interval asked for, at least minimum_repetitions (" +
           std::to_string(job.minimum_repetitions) + ") must be allowed");
}

json::Value to_json(const std::map<std::string, std::string>& parameters) {
  json::Object result;
  for (const auto& [name, value] : parameters) result.emplace_back(name, value);
  return result;
}

json::Value phases_json(const Job& job) {
  if (!job.phases) return nullptr;
  return json::Array{job.phases->first, job.phases->second};
}

}  // namespace

Job parse_job(const json::Value& value) {
  if (!value.is_object()) refuse("job: expected an object");
  Job job;
  for (const auto& [name, setting] : value.object()) {
    const auto member = std::ranges::find(members, name, &Member::name);
    if (member == members.end()) refuse("job: unknown member " + json::write(json::Value(name)));
    try {
      member->read(job, setting);
    } catch (const UsageError& error) {
      refuse("job: " + name + ": " + error.what());
    }
  }
  check_together(job);
  return job;
}

json::Value to_json(const Job& job) {
  return json::Object{
      {"pattern", job.pattern},
      {"pattern_parameters", to_json(job.pattern_parameters)},
      {"backend", job.backend},
      {"backend_parameters", to_json(job.backend_parameters)},
      {"sizes", json::Array(job.sizes.begin(), job.sizes.end())},
      {"phases", phases_json(job)},
      {"repetitions", job.repetitions > 0 ? json::Value(job.repetitions) : nullptr},
      {"minimum_repetitions", job.minimum_repetitions},
      {"interval", job.interval},
      {"warm_up", job.warm_up},
      {"iterations", job.iterations},
      {"sync", job.sync},
      {"wait", job.wait},
      {"seed", job.seed},
      {"memory_bytes", job.memory_bytes},
      {"verify", job.verify},
      {"compute", job.compute},
      {"tolerate_failures", job.tolerate_failures},
      {"time_limit_seconds", job.time_limit_seconds},
      {"raw_budget_bytes", job.raw_budget_bytes},
      {"out", job.out},
      {"resume", job.resume},
      {"force", job.force},
      {"metadata", job.metadata.is_object() ? job.metadata : json::Value(json::Object{})},
  };
}

}  // namespace crosscut::conduct
