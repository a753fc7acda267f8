// A job: one measurement, as received by a session and recorded in the run on disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "program/registry.hpp"

namespace crosscut::conduct {

struct Job {
  std::string pattern;
  std::map<std::string, std::string> pattern_parameters;  // as text; only those given
  std::string backend = "tcp";
  std::map<std::string, std::string> backend_parameters;
  std::vector<std::int64_t> sizes;                              // bytes; empty: the pattern's default sizes
  std::optional<std::pair<std::int64_t, std::int64_t>> phases;  // first and last, counted from 1
  // Repetitions are fixed or adaptive. Adaptive: at least `minimum_repetitions`, until the relative width of
  // the 95 % interval of every phase's median is at most `interval`, and at most `repetitions`.
  std::int64_t repetitions = 0;  // 0: the backend's default (BackendInfo); at least 100 with an interval
  std::int64_t minimum_repetitions = 20;
  double interval = 0;           // 0: fixed
  std::int64_t warm_up = 1;      // repetitions that are not recorded
  std::int64_t iterations = 0;   // runs of a phase per sample; 0: chosen for each size
  std::int64_t window = 0;       // messages in flight per route; 0: the pattern's own (PatternInfo)
  std::int64_t rails = 1;        // interfaces that share each message; 0: all that ranks listen on
  std::string sync = "barrier";  // "barrier" or "none"
  std::string cache = "warm";    // whether messages lie in caches: "warm", "rotate", "cold" (cache.hpp)
  std::string noise;             // "100us/10ms": ranks are away at times (noise.hpp); empty: none
  std::string wait = "auto";     // "block", "poll", "auto": poll while ranks fit the cores
  std::uint64_t seed = 1;
  // Seed of the order of sizes, and of phases in a block; 0: the given order. The run's layout is the same.
  std::uint64_t order_seed = 0;
  std::int64_t memory_bytes = std::int64_t{2} << 30;  // limit on the buffers of a rank
  bool verify = false;                                // check every received byte
  bool compute = false;                               // compute while the pattern runs; record the work done
  bool tolerate_failures = false;
  // Keep connections for the session's next job with the same backend, so that a network that hashes ports
  // keeps every route on its path.
  bool keep_connections = false;
  double time_limit_seconds = 0;                          // stop after the block that reaches it; 0: no limit
  std::int64_t raw_budget_bytes = std::int64_t{4} << 30;  // above this, keep summaries instead of raw samples
  std::string out;                                        // directory of the run
  bool resume = false;
  bool force = false;                     // resume even if nodes or settings differ
  json::Value metadata = json::Object{};  // recorded unchanged (command line, host file, ...)
};

// Parses and checks a job. Throws UsageError naming the invalid or unknown member.
Job parse_job(const json::Value& value);
json::Value to_json(const Job& job);

// Returns the messages in flight per route: the job's, or else the pattern's own.
std::int32_t window_of(const Job& job);
// Makes the job's pattern, with its window and rails, which are known. Throws UsageError for an unknown
// pattern or a bad parameter.
std::unique_ptr<program::Pattern> make_pattern(const Job& job);
// Returns the job's backend. Throws UsageError if this executable does not have it.
const program::BackendInfo& usable_backend(const Job& job);

}  // namespace crosscut::conduct
