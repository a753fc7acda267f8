// The operations of all ranks in one phase, numbered together, with each send matched to its receive.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/program.hpp"

namespace crosscut::backends::sim {

// Index of an operation among those of all ranks in the phase.
using SimOpIndex = std::int32_t;
using MessageIndex = std::int32_t;

// The part of a program::Op that the simulator needs. An operation of several messages is as many SimOps.
// What waits for the operation waits for its last message, whose time is the sample. A connection completes
// messages in order; if they take several rails (`striped`), the last one counts as complete once all are.
struct SimOp {
  std::int64_t bytes = 0, sample_bytes = 0;
  double divisor = 1;
  Rank rank = 0, peer = 0;
  SimOpIndex after[2] = {-1, -1};  // -1: the start of the phase
  SimOpIndex since = -1;
  SimOpIndex last = -1;  // the last message of the same operation
  std::int32_t slot = -1;
  MessageIndex message = -1;
  program::Op::Kind kind = program::Op::Kind::send;
  std::uint8_t channel = 0, rail = 0;
};

struct Message {
  SimOpIndex send = -1, receive = -1;
  bool follows = false;  // the previous message uses the same connection
};

// Remade for each phase; its memory is reused.
class PhaseProgram {
 public:
  // Throws RunError if the pattern is invalid: a peer that is not another rank, a send and receive that do
  // not match, or 2^31 operations or more.
  void make(const program::Phase& phase, Rank ranks);

  Rank ranks() const { return static_cast<Rank>(first_.size()) - 1; }
  std::span<const SimOp> ops() const { return ops_; }
  std::span<const Message> messages() const { return messages_; }
  std::size_t first(Rank rank) const { return first_[static_cast<std::size_t>(rank)]; }
  const SimOp& op(SimOpIndex index) const { return ops_[static_cast<std::size_t>(index)]; }
  // Returns the operations that wait for this one; empty if no operation waits for another (`independent`).
  std::span<const SimOpIndex> dependents(SimOpIndex index) const;
  bool independent() const { return independent_; }
  bool any_follows() const { return any_follows_; }
  bool striped() const { return striped_; }

 private:
  struct End {
    std::uint64_t lane = 0;  // destination, channel and rail; the source is given
    SimOpIndex op = 0;
  };

  void emit(const program::Phase& phase, Rank ranks);
  void match();
  void match_source(std::span<const SimOpIndex> receives, Rank source);
  void list_dependents();

  std::vector<program::Op> emitted_;
  std::vector<SimOpIndex> first_message_;  // [emitted operation + 1]
  std::vector<SimOp> ops_;
  std::vector<std::size_t> first_;  // [rank + 1]
  std::vector<Message> messages_;
  std::vector<std::size_t> receives_first_;  // [source + 1]
  std::vector<SimOpIndex> receives_;         // in order of source
  std::vector<End> sent_, received_;         // scratch space of match_source()
  std::vector<std::int32_t> dependents_first_;
  std::vector<SimOpIndex> dependents_;
  bool independent_ = true, any_follows_ = false, striped_ = false;
};

}  // namespace crosscut::backends::sim
