// A pattern is data; the code that runs it does not depend on the pattern.
//
// A pattern maps (rank, ranks, parameters, phase) to the rank's operations in that phase. The operations form
// a DAG. Nothing here depends on a clock, a socket or a topology.
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

// In `after` and `since`: the start of the phase instead of an operation.
inline constexpr OpIndex phase_start = -1;

// A collective operation of all ranks or of every n-th one, run by the transport's own library. Where an
// operation divides a rank's vector, it has a block for each rank: all of the same size, or as `uneven_block`
// says (blocks.hpp).
enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  all_to_all_v,
  barrier
};

// Reductions add unsigned words of this size, modulo 2^32: exactly, in any order.
inline constexpr std::int64_t word_bytes = 4;

// One send or receive of a rank: the message, the operations that it waits for, the origin of its data
// (verification), and the sample that it ends, if any.
struct Op {
  // collective: every rank that takes part has the same ones, in the same order, in phases where each
  // operation waits for the previous one. `bytes` is a rank's whole vector, `peer` the neighbour that its
  // sample names.
  enum class Kind : std::uint8_t { send, receive, collective };

  Kind kind = Kind::send;
  std::uint8_t channel = 0;  // a tag (mpi), a connection of its own (tcp, udp)
  std::uint8_t rail = 0;     // index of the interface
  Rank peer = 0;             // never the rank itself
  std::int64_t bytes = 0;    // 0 is allowed: the message is only a signal
  std::int64_t offset = 0;   // into the rank's send or receive buffer, bytes
  // Messages in flight at once, of `bytes` each and behind one another in the buffer from `offset` on. The
  // operation completes with the last of them. Set by in_flight() (in_flight.hpp), not by patterns.
  std::int32_t messages = 1;
  // Parts that each message is cut into, on the rails from `rail` on (for_each_message). Set by in_flight().
  std::int32_t rails = 1;
  bool is_signal = false;  // orders messages and is none of them: sent once, whatever the window
  // Earlier operations of this rank (with a smaller index) that must complete before this one starts.
  std::array<OpIndex, 2> after{phase_start, phase_start};
  // For a send that forwards received data: index of that earlier receive of this rank. The bytes are then
  // taken from the receive buffer at `offset`.
  OpIndex forwards = -1;
  // Rank that the received data comes from, the first in a chain of forwards (verification); -1: the peer.
  Rank origin = -1;
  // Offset of the received bytes in the origin's send buffer (verification); -1: `offset`.
  std::int64_t origin_offset = -1;
  std::int32_t slot = -1;          // index of the sample that this operation ends; -1: untimed
  OpIndex since = phase_start;     // the sample is (done(this) - posted(since)) / divisor
  double divisor = 1;              // 2 for half a round trip
  std::int64_t sample_bytes = -1;  // bytes credited to the sample; -1: `bytes`
  bool adds = false;  // a receive: its words are added to the rank's vector before it is complete
  Collective collective = Collective::barrier;  // if `kind` says so
  Rank every = 1;                               // a collective: of the ranks 0, every, 2 every, ...
  bool in_place = false;                        // a collective: the send buffer receives the result

  std::int64_t all_bytes() const { return bytes * messages; }
  std::int64_t counted_bytes() const { return sample_bytes >= 0 ? sample_bytes : bytes; }
};

// Resources that a pattern needs for one message size. Every emitted operation stays within them.
struct Extent {
  std::int64_t phases = 0;
  std::int32_t slots = 1;     // op.slot < slots
  std::int32_t channels = 1;  // op.channel < channels
  std::int32_t rails = 1;     // op.rail < rails
  // Messages in flight per route. Times, bytes of samples and credited bytes are those of one message: a
  // phase's time is divided by the window.
  std::int32_t window = 1;
  std::int64_t send_bytes = 0;     // size of the send buffer of a rank
  std::int64_t receive_bytes = 0;  // size of the receive buffer of a rank
  // Receives use the send buffer, as in NetPIPE, so that a bounced message comes from the cache.
  // `receive_bytes` is then at most `send_bytes`.
  bool one_buffer = false;
  // True if the backend may run a phase's operations several times back to back (short messages) and divide
  // each sample by the count. False if every message is a sample of its own.
  bool iterable = true;
  bool collectives = false;  // needs a backend whose library runs collectives
  bool adds = false;         // some receives add
};

// One phase of all ranks. State that ranks share (a permutation) is made once and takes O(ranks) memory.
class Phase {
 public:
  virtual ~Phase() = default;
  // Appends the operations of `rank` in program order; `ops` arrives empty. A rank may have none.
  // The n-th send on (source, destination, channel, rail) meets the n-th receive.
  virtual void emit(Rank rank, std::vector<Op>& ops) const = 0;
  // Returns the bytes credited to `rank` in this phase by the pattern's own bandwidth formula. The published
  // figure is credited bytes / slowest rank's time (see PatternInfo::formula).
  virtual double credited_bytes(Rank rank) const = 0;
  // Returns a short, human-readable label of the phase ("stride 3", "round 2"); may be empty.
  virtual std::string label() const { return {}; }
};

inline const std::vector<std::int64_t> no_bytes{0};

// Immutable once made; any rank and any thread may call every method.
class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual Extent extent(Rank ranks, std::int64_t bytes) const = 0;
  // Returns the ranks that `self` may exchange messages with in any phase: symmetric, sorted, without `self`.
  virtual std::vector<Rank> peers(Rank self, Rank ranks) const = 0;
  // Returns a phase, 0 <= index < extent.phases. It depends only on parameters, seed, ranks, bytes and index.
  virtual std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const = 0;
  // Return the label of a phase, and the most bytes credited to one of its ranks. A pattern overrides these
  // if making the phase takes O(ranks) and the answer does not.
  virtual std::string label(Rank ranks, std::int64_t bytes, std::int64_t index) const {
    return phase(ranks, bytes, index)->label();
  }
  virtual double most_credited_bytes(Rank ranks, std::int64_t bytes, std::int64_t index) const {
    const auto made = phase(ranks, bytes, index);
    double most = 0;
    for (Rank rank = 0; rank < ranks; ++rank) most = std::max(most, made->credited_bytes(rank));
    return most;
  }
  // Returns the message sizes, in bytes, to measure if the user names none; `no_bytes` if messages carry
  // none.
  virtual std::vector<std::int64_t> default_sizes() const { return {1'000'000}; }
  // Returns why the pattern cannot run on this many ranks ("pairs names rank 9, but there are 8 ranks"), or
  // an empty string if it can.
  virtual std::string refuse(Rank /*ranks*/) const { return {}; }
};

}  // namespace crosscut::program
