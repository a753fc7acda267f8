#include "backends/sim/program.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "program/in_flight.hpp"

namespace crosscut::backends::sim {
namespace {

constexpr std::size_t most_operations = std::numeric_limits<SimOpIndex>::max();

std::string described(const SimOp& op) {
  return "a " + std::string(op.kind == program::Op::Kind::send ? "send" : "receive") + " of rank " +
         std::to_string(op.rank) + " (peer " + std::to_string(op.peer) + ", channel " +
         std::to_string(op.channel) + ", " + std::to_string(op.bytes) + " bytes)";
}

}  // namespace

void PhaseProgram::make(const program::Phase& phase, Rank ranks) {
  emit(phase, ranks);
  match();
  list_dependents();
}

void PhaseProgram::emit(const program::Phase& phase, Rank ranks) {
  ops_.clear();
  first_.assign(1, 0);
  independent_ = true;
  striped_ = false;
  for (Rank rank = 0; rank < ranks; ++rank) {
    emitted_.clear();
    phase.emit(rank, emitted_);
    auto next = ops_.size();
    first_message_.clear();
    for (const auto& op : emitted_) {
      first_message_.push_back(static_cast<SimOpIndex>(next));
      program::for_each_message(op, [&](const program::Op&) { ++next; });
      if (next > most_operations) throw RunError("a phase has 2^31 operations or more: too many to simulate");
    }
    first_message_.push_back(static_cast<SimOpIndex>(next));
    const auto first_of = [&](program::OpIndex index) {
      return index < 0 ? -1 : first_message_[static_cast<std::size_t>(index)];
    };
    const auto last_of = [&](program::OpIndex index) {
      return index < 0 ? -1 : first_message_[static_cast<std::size_t>(index) + 1] - 1;
    };
    for (std::size_t i = 0; i < emitted_.size(); ++i) {
      const auto& op = emitted_[i];
      if (op.peer < 0 || op.peer >= ranks || op.peer == rank)
        throw RunError("rank " + std::to_string(rank) + " has an operation with rank " +
                       std::to_string(op.peer) + ", which is not another rank");
      const auto last = first_message_[i + 1] - 1;
      program::for_each_message(op, [&](const program::Op& message) {
        ops_.push_back({.bytes = message.bytes,
                        .sample_bytes = op.counted_bytes(),
                        .divisor = op.divisor,
                        .rank = rank,
                        .peer = op.peer,
                        .after = {last_of(op.after[0]), last_of(op.after[1])},
                        .since = first_of(op.since),
                        .last = last,
                        .slot = static_cast<SimOpIndex>(ops_.size()) == last ? op.slot : -1,
                        .message = -1,
                        .kind = op.kind,
                        .channel = op.channel,
                        .rail = message.rail});
      });
      striped_ = striped_ || op.rails > 1;
      independent_ = independent_ && op.after[0] < 0 && op.after[1] < 0;
    }
    first_.push_back(ops_.size());
  }
}

// Matches sends and receives, source by source. Sends are in order of source already. A counting sort puts
// the receives into that order and keeps those of one source in order of destination, so only a source that
// uses several channels or sends out of order needs sorting.
void PhaseProgram::match() {
  const auto ranks = first_.size() - 1;
  receives_first_.assign(ranks + 1, 0);
  for (const auto& op : ops_)
    if (op.kind == program::Op::Kind::receive) ++receives_first_[static_cast<std::size_t>(op.peer) + 1];
  for (std::size_t rank = 0; rank < ranks; ++rank) receives_first_[rank + 1] += receives_first_[rank];
  receives_.resize(receives_first_[ranks]);
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].kind != program::Op::Kind::receive) continue;
    receives_[receives_first_[static_cast<std::size_t>(ops_[i].peer)]++] = static_cast<SimOpIndex>(i);
  }
  messages_.clear();
  any_follows_ = false;
  // Each entry now holds where the next source's receives begin.
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto from = rank == 0 ? 0 : receives_first_[rank - 1];
    match_source(std::span(receives_).subspan(from, receives_first_[rank] - from), static_cast<Rank>(rank));
  }
}

void PhaseProgram::match_source(std::span<const SimOpIndex> receives, Rank source) {
  const auto lane = [](Rank destination, const SimOp& op) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(destination)) << 16 |
           static_cast<std::uint64_t>(op.channel) << 8 | op.rail;
  };
  sent_.clear(), received_.clear();
  for (auto i = first(source); i < first(source + 1); ++i) {
    if (ops_[i].kind == program::Op::Kind::send)
      sent_.push_back({lane(ops_[i].peer, ops_[i]), static_cast<SimOpIndex>(i)});
  }
  for (const auto i : receives) received_.push_back({lane(op(i).rank, op(i)), i});
  const auto by_lane = [](const End& a, const End& b) {
    return a.lane != b.lane ? a.lane < b.lane : a.op < b.op;
  };
  if (!std::is_sorted(sent_.begin(), sent_.end(), by_lane)) std::sort(sent_.begin(), sent_.end(), by_lane);
  if (!std::is_sorted(received_.begin(), received_.end(), by_lane))
    std::sort(received_.begin(), received_.end(), by_lane);
  for (std::size_t i = 0; i < std::max(sent_.size(), received_.size()); ++i) {
    const bool both = i < sent_.size() && i < received_.size();
    if (!both || sent_[i].lane != received_[i].lane || op(sent_[i].op).bytes != op(received_[i].op).bytes) {
      const auto& unmatched = i < sent_.size() ? sent_[i] : received_[i];
      throw RunError("the pattern has " + described(op(unmatched.op)) +
                     " without a matching operation of the same size");
    }
    const auto message = static_cast<MessageIndex>(messages_.size());
    const bool follows = i > 0 && sent_[i].lane == sent_[i - 1].lane;
    messages_.push_back({sent_[i].op, received_[i].op, follows});
    any_follows_ = any_follows_ || follows;
    ops_[static_cast<std::size_t>(sent_[i].op)].message = message;
    ops_[static_cast<std::size_t>(received_[i].op)].message = message;
  }
}

void PhaseProgram::list_dependents() {
  if (independent_) return;
  dependents_first_.assign(ops_.size() + 1, 0);
  for (const auto& op : ops_)
    for (const auto before : op.after)
      if (before >= 0) ++dependents_first_[static_cast<std::size_t>(before) + 1];
  for (std::size_t i = 0; i < ops_.size(); ++i) dependents_first_[i + 1] += dependents_first_[i];
  dependents_.resize(static_cast<std::size_t>(dependents_first_.back()));
  // Filled from the back, so each list is in program order and its entry moves from its end to its start.
  for (auto i = ops_.size(); i-- > 0;) {
    for (const auto before : ops_[i].after) {
      if (before < 0) continue;
      auto& end = dependents_first_[static_cast<std::size_t>(before) + 1];
      dependents_[static_cast<std::size_t>(--end)] = static_cast<SimOpIndex>(i);
    }
  }
}

std::span<const SimOpIndex> PhaseProgram::dependents(SimOpIndex index) const {
  if (independent_) return {};
  const auto at = static_cast<std::size_t>(index);
  // list_dependents() left the beginning of list i in entry i + 1; a list ends where the next one begins.
  const auto from = static_cast<std::size_t>(dependents_first_[at + 1]);
  const auto to = at + 2 < dependents_first_.size() ? static_cast<std::size_t>(dependents_first_[at + 2])
                                                    : dependents_.size();
  return std::span(dependents_).subspan(from, to - from);
}

}  // namespace crosscut::backends::sim
