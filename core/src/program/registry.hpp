// What there is: every pattern and backend, each one file and one line in a .def file.
#pragma once

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
  dense,    // all ranks work in every phase: rates by phase, by route and by rank
  sweep,    // one pair at a time over many sizes: latency and rate by size
  loaded,   // single messages of mixed sizes, all pairs at once: their distribution
  victims,  // the same messages under several conditions, which phase labels name: their slowdown
  streams,  // senders share receivers: rate of each stream and each phase
};
std::string_view name_of(PatternShape shape);

// Whether `crosscut evaluate` measures the pattern: at the sizes that dense patterns share, or at its own.
enum class Evaluation : std::uint8_t { none, at_shared_sizes, at_own_sizes };
std::string_view name_of(Evaluation evaluation);

struct PatternInfo {
  std::string_view name;     // "simple-pairwise"
  std::string_view summary;  // one sentence: what it does
  std::string_view answers;  // one sentence: the question it answers
  std::string_view formula;  // its bandwidth formula, as text: "2 m / t_slowest"
  // Where the method comes from: "Fatoohi et al. 2005, algorithm 2".
  std::string_view source;
  // What `credited_bytes` is per: "rank" (rate of a rank, slowest sets it) or "phase" (sum of ranks).
  std::string_view formula_per;
  PatternShape shape = PatternShape::dense;
  // A phase's messages run at once and none waits for another: a slow one tells of a host, a route, a trunk.
  bool findings = true;
  // A short message meets no other on its way: its time is a latency.
  bool latency = false;
  Evaluation evaluation = Evaluation::none;
  std::span<const Parameter> parameters;
  std::unique_ptr<Pattern> (*make)(const Parameters&);
};

struct BackendInfo {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  bool live = true;  // moves bytes between processes; false: null, sim
  bool tolerates_failure = false;
  bool lossy = false;             // may lose bytes; records how many (udp)
  std::int64_t repetitions = 20;  // unless the job says; 1 where all would be the same
  // Empty: can be used in this executable. Else why not, and what to do.
  std::string_view unavailable{};
  // Makes the backend on one rank (backend.hpp); null where `unavailable` says why.
  std::unique_ptr<measure::Backend> (*make)(const measure::BackendContext&, const Parameters&) = nullptr;
  // In place of `make`: serves a whole session in one process, which starts no ranks; returns the exit
  // status.
  int (*serve)(const session::SessionConfig&, int requests_fd, int events_fd) = nullptr;
};

std::span<const PatternInfo* const> patterns();
std::span<const BackendInfo* const> backends();

// Throw UsageError with the nearest names for an unknown one.
const PatternInfo& find_pattern(std::string_view name);
const BackendInfo& find_backend(std::string_view name);

// In one file of core/patterns/: `CROSSCUT_DEFINE_PATTERN(simple_pairwise, {.name = "simple-pairwise", ...})`
#define CROSSCUT_DEFINE_PATTERN(id, ...)                 \
  namespace crosscut::patterns {                         \
  extern const program::PatternInfo pattern_##id;        \
  const program::PatternInfo pattern_##id = __VA_ARGS__; \
  }

}  // namespace crosscut::program
