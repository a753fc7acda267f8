// One measurement asked for: what a session is handed, and what the run on disk records of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace crosscut::conduct {

struct Job {
  std::string pattern;
  std::map<std::string, std::string> pattern_parameters;  // as text, without defaults
  std::string backend = "tcp";
  std::map<std::string, std::string> backend_parameters;
  std::vector<std::int64_t> sizes;                              // bytes; empty: the pattern's own
  std::optional<std::pair<std::int64_t, std::int64_t>> phases;  // first and last, from 1 as people count
  // Fixed repetitions, or adaptive: from `minimum_repetitions` until the 95 % interval of the median of
  // every phase is within `interval` (relative width), at most `repetitions`.
  std::int64_t repetitions = 0;  // 0: as many as the backend says (BackendInfo)
  std::int64_t minimum_repetitions = 6;
  double interval = 0;           // 0: fixed
  std::int64_t warm_up = 1;      // repetitions not recorded
  std::int64_t iterations = 0;   // runs of a phase per sample; 0: found per size
  std::string sync = "barrier";  // "barrier" or "none"
  std::string wait = "auto";     // "block", "poll", "auto": poll while ranks fit the cores
  std::uint64_t seed = 1;
  std::int64_t memory_bytes = std::int64_t{2} << 30;  // buffers of a rank, at most
  bool verify = false;                                // check every received byte
  bool compute = false;                               // compute beside the pattern, record how much
  bool tolerate_failures = false;
  double time_limit_seconds = 0;  // stop after the block in which it is reached; 0: none
  std::int64_t raw_budget_bytes = std::int64_t{4} << 30;  // above it: summaries in place of raw samples
  std::string out;                                        // directory of the run
  bool resume = false;
  bool force = false;    // resume although nodes or settings differ
  json::Value metadata;  // object: recorded as it is (command line, host file, ...)
};

// Throws UsageError naming the member. Unknown members are errors.
Job parse_job(const json::Value& value);
json::Value to_json(const Job& job);

}  // namespace crosscut::conduct
