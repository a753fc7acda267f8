// What a rank does: a pattern is data, the machine that runs it knows no pattern.
//
// A pattern maps (rank, ranks, parameters, phase) to the rank's operations in that phase. The
// operations form a DAG. Nothing here knows a clock, a socket or a topology.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rank.hpp"

namespace crosscut::program {

using OpIndex = std::int32_t;

// In `after` and `since`: not an operation, but the start of the phase.
inline constexpr OpIndex phase_start = -1;

// One send or receive of a rank: peer, bytes, place in the buffer, and what it waits for.
struct Op {
  enum class Kind : std::uint8_t { send, receive };

  Kind kind = Kind::send;
  std::uint8_t channel = 0;  // mpi: tag; tcp: a connection of its own
  std::uint8_t rail = 0;     // which interface
  Rank peer = 0;             // never the rank itself
  std::int64_t bytes = 0;    // 0 is allowed: it passes a turn
  std::int64_t offset = 0;   // into the rank's send or receive buffer, bytes
  // Earlier operations of this rank (smaller index) that must be complete before this one starts.
  std::array<OpIndex, 2> after{phase_start, phase_start};
  // A send that passes on what an earlier receive of this rank brought: that receive's index. The
  // bytes are then taken from the receive buffer at `offset`.
  OpIndex forwards = -1;
  // Whose data a receive brings (verification): -1 is the peer itself; a chain names its first rank.
  Rank origin = -1;
  // Where in the sender's buffer a receive's bytes began (verification); -1: at `offset` as well.
  std::int64_t origin_offset = -1;
  std::int32_t slot = -1;          // which sample of the phase this operation ends; -1: untimed
  OpIndex since = phase_start;     // the sample is done(this) - posted(since), over `divisor`
  double divisor = 1;              // 2 for half a round trip
  std::int64_t sample_bytes = -1;  // bytes the sample stands for; -1: `bytes` of this operation
};

// What a pattern needs for one message size. Property: every emitted op stays inside it.
struct Extent {
  std::int64_t phases = 0;
  std::int32_t slots = 1;          // samples a rank has in a phase, at most
  std::int32_t channels = 1;       // op.channel < channels
  std::int32_t rails = 1;          // op.rail < rails
  std::int64_t send_bytes = 0;     // size of the send buffer of a rank
  std::int64_t receive_bytes = 0;  // size of the receive buffer of a rank
  // Receives arrive where sends are taken from, as in NetPIPE: a bounced message comes from the cache.
  // `receive_bytes` is then at most `send_bytes`.
  bool one_buffer = false;
  // Short messages: may the backend run a phase's operations several times back to back and divide
  // each sample by the count? False where every message is a sample of its own.
  bool iterable = true;
};

// One phase for all ranks; state that ranks share (a permutation) is O(ranks), made once.
class Phase {
 public:
  virtual ~Phase() = default;
  // Appends the operations of `rank` in program order; `ops` arrives empty. A rank may have none.
  // The n-th send on (source, destination, channel, rail) meets the n-th receive.
  virtual void emit(Rank rank, std::vector<Op>& ops) const = 0;
  // What the pattern's own bandwidth formula credits: bytes that `rank` is credited in this phase.
  // The published figure is credited bytes / slowest rank's time (see PatternInfo::formula).
  virtual double credited_bytes(Rank rank) const = 0;
  // A short label of the phase for people ("stride 3", "4 senders, 16 receivers"); may be empty.
  virtual std::string label() const { return {}; }
};

// Immutable once made; every method may be called from any rank and any thread.
class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual Extent extent(Rank ranks, std::int64_t bytes) const = 0;
  // Ranks that `self` may exchange messages with in any phase; symmetric, sorted, without self.
  virtual std::vector<Rank> peers(Rank self, Rank ranks) const = 0;
  // phase(i) depends only on parameters, seed, ranks, bytes and i: 0 <= index < extent.phases.
  virtual std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const = 0;
  // Of the phase, but told without making it where that would be O(ranks): its label, and the most that a
  // rank is credited in it.
  virtual std::string label(Rank ranks, std::int64_t bytes, std::int64_t index) const {
    return phase(ranks, bytes, index)->label();
  }
  virtual double most_credited_bytes(Rank ranks, std::int64_t bytes, std::int64_t index) const {
    const auto made = phase(ranks, bytes, index);
    double most = 0;
    for (Rank rank = 0; rank < ranks; ++rank) most = std::max(most, made->credited_bytes(rank));
    return most;
  }
  // Message sizes measured when the user names none, bytes.
  virtual std::vector<std::int64_t> default_sizes() const { return {1'000'000}; }
  // Why these ranks cannot run this pattern ("pairs names rank 9, but there are 8 ranks"); empty: fine.
  virtual std::string refuse(Rank ranks) const {
    (void)ranks;
    return {};
  }
};

}  // namespace crosscut::program
