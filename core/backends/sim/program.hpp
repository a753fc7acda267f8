// The operations of all ranks in one phase, in one numbering, each send with the receive that it meets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/program.hpp"

namespace crosscut::backends::sim {

// Operation of the phase, over all ranks.
using SimOpIndex = std::int32_t;
using MessageIndex = std::int32_t;

// What the simulator needs of an Op.
struct SimOp {
  std::int64_t bytes = 0, sample_bytes = 0;
  double divisor = 1;
  Rank rank = 0, peer = 0;
  SimOpIndex after[2] = {-1, -1};  // of the phase; -1: its start
  SimOpIndex since = -1;
  std::int32_t slot = -1;
  MessageIndex message = -1;
  program::Op::Kind kind = program::Op::Kind::send;
  std::uint8_t channel = 0, rail = 0;
};

struct Message {
  SimOpIndex send = -1, receive = -1;
  bool follows = false;  // the message before this one, on the same connection
};

// Made anew for each phase without taking memory anew.
class PhaseProgram {
 public:
  // Throws RunError where the pattern breaks its promises: who is not received, operations beyond 2^31.
  void make(const program::Phase& phase, Rank ranks);

  Rank ranks() const { return static_cast<Rank>(first_.size()) - 1; }
  std::span<const SimOp> ops() const { return ops_; }
  std::span<const Message> messages() const { return messages_; }
  std::size_t first(Rank rank) const { return first_[static_cast<std::size_t>(rank)]; }
  const SimOp& op(SimOpIndex index) const { return ops_[static_cast<std::size_t>(index)]; }
  // Operations that wait for this one. Where none waits for any (`independent`), there are no lists.
  std::span<const SimOpIndex> dependents(SimOpIndex index) const;
  bool independent() const { return independent_; }
  bool any_follows() const { return any_follows_; }

 private:
  struct End {
    std::uint64_t lane = 0;  // of one source: destination, channel, rail
    SimOpIndex op = 0;
  };

  void emit(const program::Phase& phase, Rank ranks);
  void match();
  void match_source(std::span<const SimOpIndex> receives, Rank source);
  void list_dependents();

  std::vector<program::Op> emitted_;
  std::vector<SimOp> ops_;
  std::vector<std::size_t> first_;  // [rank + 1]
  std::vector<Message> messages_;
  std::vector<std::size_t> receives_first_;  // [source + 1]
  std::vector<SimOpIndex> receives_;         // by source
  std::vector<End> sent_, received_;         // of the source in work
  std::vector<std::int32_t> dependents_first_;
  std::vector<SimOpIndex> dependents_;
  bool independent_ = true, any_follows_ = false;
};

}  // namespace crosscut::backends::sim
