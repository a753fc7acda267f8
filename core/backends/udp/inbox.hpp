// Reassembles messages from datagrams and decides when the rest of a message will no longer come. It knows
// neither sockets nor clocks: callers say what came and when.
//
// Nothing lost is sent again. A receive ends when all its pieces have come, or when its message is *over*
// (its sender has handed all of it to the kernel) and no piece has come for a certain time. That is the time
// by which datagrams of one flow may overtake each other, if a later piece or mark of the same flow shows
// that the message is over (in band). It is the longer grace if another connection says so (out of band).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "program/program.hpp"

namespace crosscut::backends::udp {

class UdpInbox {
 public:
  struct Receive {
    program::OpIndex op = 0;
    std::uint32_t lane = 0;
    std::int64_t bytes = 0;
  };
  struct Counts {
    std::int64_t useless = 0;    // invalid datagrams: from strangers, or broken
    std::int64_t late = 0;       // duplicates, and datagrams of messages that are complete or given up
    std::int64_t crowded = 0;    // dropped: their receive was not posted yet, and the early buffer was full
    std::int64_t cut_short = 0;  // messages given up incomplete
  };

  struct Limits {
    std::int64_t reordering_nanoseconds = 1'000'000;
    std::int64_t grace_nanoseconds = 20'000'000;
    std::int64_t early_bytes = 4 << 20;  // kept for receives that are not posted yet
  };
  enum class Said : std::uint8_t { in_band, out_of_band };

  explicit UdpInbox(const Limits& limits) : limits_(limits) {}

  // Adds a lane and returns its number. `chunk_bytes` is the size of the sender's pieces.
  std::uint32_t add_lane(std::size_t chunk_bytes);
  // Declares the receives of a phase of `ops` operations. Each may then be posted any number of times, one
  // after the other.
  void start_phase(std::size_t ops, std::span<const Receive> receives);
  void post(program::OpIndex op, std::byte* data, std::int64_t now);

  // Takes one datagram. Returns true if it was of use.
  bool take(std::uint32_t connection, std::uint64_t message, std::uint32_t chunk,
            std::span<const std::byte> payload, std::int64_t now);
  // Notes that the sender has handed its first `messages` messages to the kernel.
  void handed_over(std::uint32_t connection, std::uint64_t messages, Said said, std::int64_t now);
  // Gives up overdue receives. Call only after everything that has arrived was taken.
  void give_up_overdue(std::int64_t now);
  std::int64_t next_deadline() const { return next_deadline_; }  // when to give up next, or `never`

  bool awaits(std::uint32_t connection) const { return !connections_[connection].open.empty(); }
  std::vector<program::OpIndex>& completed() { return completed_; }
  // Returns the bytes lost, summed over all times the receive was posted in this phase.
  std::int64_t lost_bytes(program::OpIndex op) const {
    return receives_[static_cast<std::size_t>(op)].lost_bytes;
  }
  // Returns when the last byte came; if none did, when the receive was given up.
  std::int64_t moved_at(program::OpIndex op) const {
    return receives_[static_cast<std::size_t>(op)].moved_at;
  }
  const Counts& counts() const { return counts_; }
  void refuse(std::int64_t datagrams) { counts_.useless += datagrams; }
  void clear();  // forgets connections and all that is kept for them

  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

 private:
  struct Open {
    std::uint32_t lane = 0;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0, missing_bytes = 0, message = 0, chunks = 0, missing_chunks = 0;
    std::size_t bits = 0;  // index in arrived_ of its first word
    std::int64_t moved_at = 0, over_since = never, patience = 0;
    std::int64_t lost_bytes = 0;
  };
  struct Early {
    std::uint64_t message = 0;
    std::uint32_t chunk = 0;
    std::vector<std::byte> payload;
  };
  struct Incoming {
    std::uint64_t chunk_bytes = 0;
    std::uint64_t posted = 0, over_in_band = 0, over = 0;  // messages
    std::vector<program::OpIndex> open;                    // in the order of their messages
    std::vector<Early> early;
  };

  bool place(program::OpIndex op, std::uint32_t chunk, std::span<const std::byte> payload, std::int64_t now);
  bool keep_early(Incoming& connection, std::uint64_t message, std::uint32_t chunk,
                  std::span<const std::byte> payload, std::int64_t now);
  void take_early(program::OpIndex op, std::int64_t now);
  void mark_over(program::OpIndex op, Said said, std::int64_t now);
  void give_up(program::OpIndex op, std::int64_t now);
  void finish(program::OpIndex op);
  Open& at(program::OpIndex op) { return receives_[static_cast<std::size_t>(op)]; }

  Limits limits_;
  std::int64_t early_held_ = 0, next_deadline_ = never;
  std::vector<Incoming> connections_;
  std::vector<Open> receives_;          // [op]
  std::vector<std::uint64_t> arrived_;  // a bit for each piece of each receive
  std::vector<program::OpIndex> over_;  // open receives whose message is over
  std::vector<program::OpIndex> completed_;
  Counts counts_;
};

}  // namespace crosscut::backends::udp
