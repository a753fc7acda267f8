// The registry of patterns and backends. Each one has a file or folder of its own and a line in a .def file.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/parameters.hpp"
#include "program/program.hpp"

namespace crosscut::measure {
class Backend;
struct BackendContext;
}  // namespace crosscut::measure

namespace crosscut::session {
struct SessionConfig;
}

namespace crosscut::program {

// How reports read and draw a run of a pattern.
enum class PatternShape : std::uint8_t {
  dense,       // all ranks work in every phase: rates by phase, by route and by rank
  sweep,       // one pair at a time over many sizes: latency and rate by size
  loaded,      // single messages of mixed sizes, all pairs at once: their distribution
  victims,     // the same messages under several conditions, which phase labels name: their slowdown
  streams,     // senders share receivers: rate of each stream and of each phase
  algorithms,  // each phase is an algorithm of one operation: time and rate of each, by size
};
constexpr std::array<std::string_view, 6> shape_names{"dense",   "sweep",   "loaded",
                                                      "victims", "streams", "algorithms"};
constexpr std::string_view name_of(PatternShape shape) {
  return shape_names[static_cast<std::size_t>(shape)];
}

// Whether `crosscut evaluate` measures the pattern, and at which sizes: those of dense patterns or its own.
enum class Evaluation : std::uint8_t { none, at_shared_sizes, at_own_sizes };
constexpr std::array<std::string_view, 3> evaluation_names{"", "shared sizes", "own sizes"};
constexpr std::string_view name_of(Evaluation evaluation) {
  return evaluation_names[static_cast<std::size_t>(evaluation)];
}

struct PatternInfo {
  std::string_view name;     // "simple-pairwise"
  std::string_view summary;  // one sentence: what it does
  std::string_view answers;  // one sentence: the question it answers
  std::string_view formula;  // its bandwidth formula, as text: "2 m / t_slowest"
  // Source of the method: "Fatoohi et al. 2005, algorithm 2".
  std::string_view source;
  // Unit that `credited_bytes` refers to: "rank" (rate of a rank; the slowest sets it) or "phase" (sum over
  // ranks).
  std::string_view formula_per;
  PatternShape shape = PatternShape::dense;
  // True if a phase's messages run at once and none waits for another, so that a slow one implicates a host,
  // a route or a trunk.
  bool findings = true;
  // True if a short message meets no other on its route, so that its time is a latency.
  bool latency = false;
  // True if in every phase one half of the ranks exchanges with the other, so that a phase's rate is that of
  // a bisection.
  bool halves = false;
  Evaluation evaluation = Evaluation::none;
  std::int32_t window = 1;  // default; messages in flight per route (window.hpp)
  std::span<const Parameter> parameters;
  std::unique_ptr<Pattern> (*make)(const Parameters&);

  // True if the pattern has a use of its own for rails (in_flight.hpp), and receives their number.
  bool has_rails() const {
    return std::ranges::any_of(parameters, [](const Parameter& one) { return one.name == "rails"; });
  }
};

// What a backend can use on this machine, for `crosscut doctor`.
struct Device {
  std::string name, text;
};

struct BackendInfo {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  bool live = true;  // moves bytes between processes; false: null, sim
  bool tolerates_failure = false;
  bool lossy = false;             // may lose bytes; records how many (udp)
  bool collectives = false;       // its library runs collective operations of its own
  bool rails = true;              // messages can take several interfaces of a rank (Op::rail)
  bool over_mpi = false;          // its ranks are tasks of an MPI job (crosscut-core-mpi)
  std::int64_t repetitions = 20;  // default; 1 if all repetitions would be the same
  // Why this executable cannot use the backend, and what to do; empty if it can.
  std::string_view unavailable{};
  // The same of a backend that loads its library when needed: asked at run time, instead of `unavailable`.
  std::string_view (*why_missing)() = nullptr;
  // Returns what the backend can use here; null if it has nothing to tell. May take seconds, and may throw.
  std::vector<Device> (*devices)() = nullptr;
  // Makes the backend on one rank (backend.hpp); null if unavailable.
  std::unique_ptr<measure::Backend> (*make)(const measure::BackendContext&, const Parameters&) = nullptr;
  // Set instead of `make`: serves a whole session in one process, without starting ranks. Returns the exit
  // status.
  int (*serve)(const session::SessionConfig&, int requests_fd, int events_fd) = nullptr;

  std::string_view why_unavailable() const { return why_missing != nullptr ? why_missing() : unavailable; }
};

std::span<const PatternInfo* const> patterns();
std::span<const BackendInfo* const> backends();

// Both throw UsageError suggesting the nearest known names if `name` is unknown.
const PatternInfo& find_pattern(std::string_view name);
const BackendInfo& find_backend(std::string_view name);

// Defines a pattern in a file of core/patterns/: `CROSSCUT_DEFINE_PATTERN(simple_pairwise, {.name =
// "simple-pairwise", ...})`
#define CROSSCUT_DEFINE_PATTERN(id, ...)                 \
  namespace crosscut::patterns {                         \
  extern const program::PatternInfo pattern_##id;        \
  const program::PatternInfo pattern_##id = __VA_ARGS__; \
  }

}  // namespace crosscut::program
