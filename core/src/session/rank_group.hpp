// All ranks together, as the conductor sees them: it asks for a block and gets everybody's samples. Live
// ranks are reached over control connections (remote_ranks.hpp); a simulator computes them in this process.
#pragma once

#include <string>
#include <vector>

#include "conduct/job.hpp"
#include "measure/backend.hpp"
#include "store/store.hpp"

namespace crosscut::session {

struct BlockRequest {
  std::int64_t bytes = 0;
  store::Block block;  // phase numbers of the pattern, from 0
  std::int64_t iterations = 1;
  // Only summaries of phases are wanted: a rank group that has all samples at hand may sum them up itself.
  bool summarise = false;
};

struct BlockOutcome {
  store::BlockData data;  // its block as asked for
  std::vector<measure::WrongByte> wrong;
  std::int64_t wrong_count = 0;
  std::vector<measure::Effort> effort;  // [rank]; empty where nothing is moved
};

// A rank that is gone for good: which, where, why.
struct LostRank {
  Rank rank = 0;
  std::string node, reason;
};

class RankGroup {
 public:
  virtual ~RankGroup() = default;
  virtual Rank ranks() const = 0;
  // [rank] index into the nodes of `attributes()`.
  virtual std::vector<std::int32_t> nodes() const = 0;
  // What is known of the machines before any job: nodes, sync, clock, tcp.
  virtual json::Object attributes() const = 0;
  // Makes the job known to all ranks, which take memory for it. Throws UsageError when a rank refuses.
  // Returns attributes (counters before, wait).
  virtual json::Object begin(const conduct::Job& job) = 0;
  // Throws RunError when it cannot be had (a rank was lost and may not be).
  virtual BlockOutcome run(const BlockRequest& request) = 0;
  // Ends the job; attributes (counters after, the backend's facts).
  virtual json::Object end() = 0;
  // Lets go of a job that was refused or ended early.
  virtual void reset() = 0;
  virtual const std::vector<LostRank>& lost() const = 0;
  // False: time does not pass (null, sim), so nothing needs to be warmed up or repeated for the clock's sake.
  virtual bool real_time() const = 0;
};

}  // namespace crosscut::session
