// All ranks as the conductor sees them: it requests a block and receives every rank's samples. It reaches
// live ranks over control connections (remote_ranks.hpp); a simulator computes their samples in this process.
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
  // True if only phase summaries are needed. A group that holds all samples may then summarise them itself.
  bool summarise = false;
};

struct BlockOutcome {
  store::BlockData data;  // `data.block` is the requested block
  std::vector<measure::WrongByte> wrong;
  std::int64_t wrong_count = 0;
  std::vector<measure::Effort> effort;         // [rank]; empty if no bytes are moved
  std::vector<store::Connection> connections;  // those not used before by the job
};

// A rank that is lost for good, and why.
struct LostRank {
  Rank rank = 0;
  std::string node, reason;
};

inline json::Array to_json(const std::vector<LostRank>& lost) {
  json::Array list;
  for (const auto& [rank, node, reason] : lost)
    list.emplace_back(json::Object{{"rank", rank}, {"node", node}, {"reason", reason}});
  return list;
}

class RankGroup {
 public:
  virtual ~RankGroup() = default;
  virtual Rank ranks() const = 0;
  // Returns the interfaces of each rank that messages can take.
  virtual std::int32_t rails() const = 0;
  // Returns each rank's index into the `nodes` of `attributes()`, [rank].
  virtual std::vector<std::int32_t> nodes() const = 0;
  // Returns the facts known before any job: nodes, sync, clock.
  virtual json::Object attributes() const = 0;
  // Announces the job to all ranks, which allocate memory for it. Returns attributes (counters before, tcp,
  // wait). Throws UsageError if a rank refuses.
  virtual json::Object begin(const conduct::Job& job) = 0;
  // Runs one block. Throws RunError if that is impossible, for example if a rank is lost and the job does not
  // tolerate losses.
  virtual BlockOutcome run(const BlockRequest& request) = 0;
  // Ends the job. Returns attributes (counters after, backend facts, retransmissions).
  virtual json::Object end() = 0;
  // Abandons a job that was refused or that failed.
  virtual void reset() = 0;
  virtual const std::vector<LostRank>& lost() const = 0;
  // False if no real time passes (null, sim), so that neither a warm-up nor several iterations are needed.
  virtual bool real_time() const = 0;
};

}  // namespace crosscut::session
