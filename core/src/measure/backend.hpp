// The interface of backends, which run a rank's operations and return their times. It separates the rank's
// main loop from the code that moves bytes, or pretends to.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "measure/cache.hpp"
#include "measure/noise.hpp"
#include "program/program.hpp"
#include "program/registry.hpp"
#include "session/address_book.hpp"
#include "store/store.hpp"

namespace crosscut::session {
class ControlThread;
class BarrierTree;
}  // namespace crosscut::session

namespace crosscut::measure {

// Parts of the rank that a backend may use. The referenced objects outlive the backend.
struct BackendContext {
  Rank rank = 0;
  Rank ranks = 1;
  int place = 0;  // among the ranks of its node, from 0
  const std::string& secret;
  session::ControlThread& control_thread;
  session::BarrierTree& barrier;
  // The address at which each rank listens, and this rank's own interfaces, [rail].
  const std::vector<session::AddressBook>& addresses;
  const std::vector<session::Address>& interfaces;
  bool polling = false;  // true: waits may spin, since every rank has a core
  double timeout_seconds = 30;
};

// What a job asks of a rank's memory.
struct MemoryPlan {
  std::int64_t limit_bytes = 0;
  bool verify = false;
  CacheState cache = CacheState::warm;
};

// One block to run, with the settings of its job and size.
struct Task {
  const program::Pattern* pattern = nullptr;
  std::int64_t bytes = 0;
  program::Extent extent;
  store::Block block;  // phase numbers of the pattern, from 0
  std::int64_t iterations = 1;
  std::uint32_t epoch = 0;  // increases whenever a rank is lost
  std::vector<Rank> lost;   // sorted
  bool barrier = true;      // between phases
  bool verify = false;
  bool compute = false;
  Noise noise;
  std::uint64_t verify_seed = 0;
  std::uint64_t order_seed = 0;  // seed of the order of phases; 0: ascending
};

struct WrongByte {
  Rank source = 0, destination = 0;
  std::int64_t phase = 0, bytes = 0, offset = 0;
  std::uint8_t expected = 0, found = 0;
};

// A rank's cost of moving bytes, summed over the timed sections of one or more blocks.
struct Effort {
  double processor_seconds = 0, elapsed_seconds = 0;
  std::int64_t sent_bytes = 0, received_bytes = 0;
  void add(const Effort& other) {
    processor_seconds += other.processor_seconds;
    elapsed_seconds += other.elapsed_seconds;
    sent_bytes += other.sent_bytes;
    received_bytes += other.received_bytes;
  }
};

// A rank without operations in a phase does not start it.
inline constexpr std::int64_t not_started = std::numeric_limits<std::int64_t>::min();

// One rank's part of a block; C order over the block's ranges.
struct RankSamples {
  std::vector<double> message_seconds;           // [repetition, phase, slot]
  std::vector<double> rank_seconds;              // [repetition, phase]
  std::vector<store::Status> status;             // [repetition, phase]
  std::vector<double> compute_fraction;          // [repetition, phase], or empty
  std::vector<std::int64_t> message_lost_bytes;  // [repetition, phase, slot], or empty
  // [repetition, phase] when the rank's clock started, by its own clock, ns; empty unless phases start behind
  // a barrier.
  std::vector<std::int64_t> started;
  std::vector<WrongByte> wrong;  // the first few; `wrong_count` counts all
  std::int64_t wrong_count = 0;
  Effort effort;
  // Connections opened by this rank that the job had not used before this block.
  std::vector<store::Connection> connections;
};

// Thrown if this rank finds the peer of an operation gone.
class PeerLost : public std::runtime_error {
 public:
  PeerLost(Rank lost_peer, const std::string& why, std::string what_was_done = {})
      : std::runtime_error(why), peer(lost_peer), doing(std::move(what_was_done)) {}
  Rank peer;
  std::string doing;  // "receiving from rank 3"; empty: not a transfer
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Begins a job: allocates buffers for its largest size. Throws UsageError if they exceed the limit.
  virtual void reserve(const program::Extent& largest, const MemoryPlan& plan) = 0;
  virtual RankSamples run(const Task& task) = 0;
  // Called by the control thread: `run` must throw soon. A backend whose library cannot be interrupted does
  // nothing.
  virtual void interrupt() = 0;
  // Returns the versions and settings in use, for the run's attributes.
  virtual json::Value facts() const = 0;
  // Returns what the kernel tells of this rank's lanes since the last call, for the run's attributes
  // `retransmissions` and `lanes` (docs/reference/run-format.md); null if the backend cannot tell.
  virtual json::Value lanes() { return {}; }
  // Returns what this rank's node has sent in each phase since the last call, for the run's attribute
  // `sent_by_adapters`; null if that was not counted.
  virtual json::Value traffic() { return {}; }
  // Closes connections after a rank was lost; the next run makes new ones.
  virtual void disconnect() = 0;
};

}  // namespace crosscut::measure
