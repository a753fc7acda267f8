// Rounds of messages that an algorithm of a collective operation is made of.
#pragma once

#include <utility>
#include <vector>

#include "patterns/operations.hpp"
#include "program/blocks.hpp"

namespace crosscut::patterns {

using program::Blocks;
using program::Op;
using program::OpIndex;

// Appends the operations of one rank, round by round.
class Rounds {
 public:
  // `segment_bytes`: of a pipeline.
  Rounds(Rank self, Rank everybody, std::int64_t vector_bytes, bool adds, std::vector<Op>& ops,
         std::int64_t segment_bytes = 1)
      : rank(self),
        ranks(everybody),
        bytes(vector_bytes),
        segment_bytes_(segment_bytes),
        adds_(adds),
        ops_(ops) {}

  Blocks blocks(std::int64_t first, std::int64_t count = 1) const {
    return {bytes, ranks, ((first % ranks) + ranks) % ranks, count};
  }
  Blocks all() const { return {bytes, 1, 0, 1}; }
  // How many segments a pipeline divides the vector into: at least one.
  std::int64_t segments() const {
    constexpr std::int64_t most = 1 << 16;
    return std::clamp<std::int64_t>((bytes - 1) / segment_bytes_ + 1, 1, most);
  }
  Blocks none() const { return {0, 1, 0, 1}; }
  // Whether what is received from now on is part of a sum.
  void reduces(bool yes) { reduces_ = yes; }

  void send(Rank to, const Blocks& what) { next({begun(send_to(to, what.size(), what.place())), -1}); }
  void receive(Rank from, const Blocks& what) { next({-1, begun(received(from, what))}); }
  void exchange(Rank to, const Blocks& sent, Rank from, const Blocks& what) {
    const OpIndex receiving = begun(received(from, what));
    next({begun(send_to(to, sent.size(), sent.place())), receiving});
  }
  // Makes the last receive end the rank's sample, which counts the whole vector.
  void finish(std::int32_t slot = 0, OpIndex since = program::phase_start) {
    if (last_received_ < 0) return;
    // A sample starts at an operation before the one that ends it: with a single exchange, its send.
    if (since == last_received_) std::swap(ops_[index(since)], ops_[index(++last_received_)]);
    Op& op = ops_[index(last_received_)];
    op.slot = slot;
    op.since = since;
    op.sample_bytes = bytes;
  }
  // Begins another operation, on a vector of this size, which follows the one before. Returns the index of
  // its first message.
  OpIndex follow(std::int64_t vector_bytes) {
    bytes = vector_bytes;
    last_received_ = -1;
    reduces_ = false;
    return static_cast<OpIndex>(ops_.size());
  }

  const Rank rank, ranks;
  std::int64_t bytes;

 private:
  static std::size_t index(OpIndex op) { return static_cast<std::size_t>(op); }
  Op received(Rank from, const Blocks& what) const {
    Op op = receive_from(from, what.size(), what.place());
    op.adds = adds_ && reduces_;
    return op;
  }
  OpIndex begun(Op op) {
    op.after = after_;
    const OpIndex at = add(ops_, op);
    if (op.kind == Op::Kind::receive) last_received_ = at;
    return at;
  }
  void next(After done) { after_ = done; }

  std::int64_t segment_bytes_;
  bool adds_, reduces_ = false;
  std::vector<Op>& ops_;
  After after_ = from_start;
  OpIndex last_received_ = -1;
};

}  // namespace crosscut::patterns
