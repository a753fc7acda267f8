// Building blocks of patterns: operations, streams, arithmetic on ranks, parameters, text for labels.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "program/parameters.hpp"
#include "program/program.hpp"

namespace crosscut::patterns {

using After = std::array<program::OpIndex, 2>;
inline constexpr After from_start = {program::phase_start, program::phase_start};
inline constexpr Rank nobody = -1;

inline program::Op send_to(Rank peer, std::int64_t bytes, std::int64_t offset = 0) {
  return {.kind = program::Op::Kind::send, .peer = peer, .bytes = bytes, .offset = offset};
}

inline program::Op receive_from(Rank peer, std::int64_t bytes, std::int64_t offset = 0) {
  return {.kind = program::Op::Kind::receive, .peer = peer, .bytes = bytes, .offset = offset};
}

inline program::OpIndex add(std::vector<program::Op>& ops, const program::Op& op) {
  ops.push_back(op);
  return static_cast<program::OpIndex>(ops.size()) - 1;
}

// Appends an exchange: one message in each direction at once. `place` counts messages in the buffers and is
// the same at both ends.
inline void add_exchange(std::vector<program::Op>& ops, Rank peer, std::int64_t bytes, std::int64_t place = 0,
                         std::int32_t slot = 0) {
  program::Op receive = receive_from(peer, bytes, place * bytes);
  receive.slot = slot;
  add(ops, receive);
  add(ops, send_to(peer, bytes, place * bytes));
}

// The two sides of a ping-pong. Both directions share a channel, as in NetPIPE: over TCP each message then
// carries the acknowledgement of the one before, whereas two connections would send every acknowledgement by
// itself. Both functions return the `after` of an operation that follows the ping-pong.
inline After add_ping(std::vector<program::Op>& ops, Rank peer, std::int64_t bytes, After after,
                      std::int32_t slot) {
  program::Op ping = send_to(peer, bytes);
  ping.after = after;
  program::Op pong = receive_from(peer, bytes);
  pong.slot = slot;
  pong.since = add(ops, ping);
  pong.after = {pong.since, program::phase_start};
  pong.divisor = 2;
  return {add(ops, pong), program::phase_start};
}

inline After add_pong(std::vector<program::Op>& ops, Rank peer, std::int64_t bytes, After after) {
  program::Op ping = receive_from(peer, bytes);
  ping.after = after;
  program::Op pong = send_to(peer, bytes);
  pong.after = {add(ops, ping), program::phase_start};
  return {add(ops, pong), program::phase_start};
}

// A sequence of messages, two in flight, at alternating places in the buffer: the next one starts when all
// but the newest are complete.
class Stream {
 public:
  std::int64_t place() const { return count_ % 2; }
  After next() const { return {newest_[1], newest_[2]}; }
  After all() const { return {newest_[0], newest_[1]}; }
  program::OpIndex add(std::vector<program::Op>& ops, program::Op op) {
    op.after = next();
    newest_ = {crosscut::patterns::add(ops, op), newest_[0], newest_[1]};
    ++count_;
    return newest_[0];
  }

 private:
  std::array<program::OpIndex, 3> newest_ = {program::phase_start, program::phase_start,
                                             program::phase_start};
  std::int64_t count_ = 0;
};

// Sorts the values and removes duplicates.
inline void sort_once(auto& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Returns `rank` modulo `ranks`, never negative.
inline Rank wrapped(std::int64_t rank, std::int64_t ranks) {
  return static_cast<Rank>(((rank % ranks) + ranks) % ranks);
}

inline std::vector<Rank> all_but(Rank self, Rank ranks) {
  std::vector<Rank> others;
  others.reserve(static_cast<std::size_t>(std::max(ranks, 1)) - 1);
  for (Rank rank = 0; rank < ranks; ++rank)
    if (rank != self) others.push_back(rank);
  return others;
}

// Base class of patterns with few operations: finds the peers by emitting every phase. With very many phases
// it returns all other ranks, which peers() permits.
class PhasedPattern : public program::Pattern {
 public:
  std::vector<Rank> peers(Rank self, Rank ranks) const override {
    constexpr std::int64_t bytes = 1;
    constexpr std::int64_t most_phases = 10'000;
    std::vector<Rank> peers;
    std::vector<program::Op> ops;
    const std::int64_t phases = extent(ranks, bytes).phases;
    if (phases > most_phases) return all_but(self, ranks);
    for (std::int64_t index = 0; index < phases; ++index) {
      ops.clear();
      phase(ranks, bytes, index)->emit(self, ops);
      for (const program::Op& op : ops) peers.push_back(op.peer);
      sort_once(peers);
    }
    return peers;
  }
};

// Makes a pattern from its parameters; used as PatternInfo::make.
template <typename Made>
std::unique_ptr<program::Pattern> made(const program::Parameters& given) {
  if constexpr (std::is_constructible_v<Made, const program::Parameters&>) {
    return std::make_unique<Made>(given);
  } else {
    return std::make_unique<Made>();
  }
}

// A phase in which all ranks do the same, up to renumbering, and are credited the same bytes.
class UniformPhase final : public program::Phase {
 public:
  using Emit = std::function<void(Rank rank, std::vector<program::Op>& ops)>;

  UniformPhase(Emit emit, double credited_bytes, std::string label = {})
      : emit_(std::move(emit)), credited_bytes_(credited_bytes), label_(std::move(label)) {}
  void emit(Rank rank, std::vector<program::Op>& ops) const override { emit_(rank, ops); }
  double credited_bytes(Rank) const override { return credited_bytes_; }
  std::string label() const override { return label_; }

 private:
  Emit emit_;
  double credited_bytes_;
  std::string label_;
};

// "1 pair", "3 pairs"
inline std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Makers of parameters. `unit` is what the value counts, `initial` the default; `help` is one sentence.
inline program::Parameter integer_parameter(std::string_view name, std::string_view unit,
                                            std::string_view initial, double maximum, std::string_view help) {
  return {.name = name,
          .kind = program::Parameter::Kind::integer,
          .unit = unit,
          .initial = initial,
          .help = help,
          .choices = {},
          .minimum = 1,
          .maximum = maximum};
}

inline program::Parameter bytes_parameter(std::string_view name, std::string_view initial,
                                          std::string_view help, double minimum = 0,
                                          double maximum = program::Parameter().maximum) {
  program::Parameter made = integer_parameter(name, "bytes", initial, maximum, help);
  made.kind = program::Parameter::Kind::bytes;
  made.minimum = minimum;
  return made;
}

inline program::Parameter seed_parameter(std::string_view help) {
  return {
      .name = "seed", .kind = program::Parameter::Kind::integer, .initial = "1", .help = help, .choices = {}};
}

// The first choice is the default.
inline program::Parameter choice_parameter(std::string_view name, std::vector<std::string_view> choices,
                                           std::string_view help) {
  return {.name = name,
          .kind = program::Parameter::Kind::choice,
          .initial = choices.front(),
          .help = help,
          .choices = choices};
}

// `kind` is ranks, pairs, or text that the pattern parses itself.
inline program::Parameter list_parameter(std::string_view name, program::Parameter::Kind kind,
                                         std::string_view help, std::string_view unit = "ranks",
                                         std::string_view initial = "") {
  return {.name = name, .kind = kind, .unit = unit, .initial = initial, .help = help, .choices = {}};
}

// "3, 8 and 12 more"
inline std::string listed(std::span<const Rank> ranks) {
  constexpr std::size_t named = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(named, ranks.size()); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > named) text += " and " + std::to_string(ranks.size() - named) + " more";
  return text;
}

// Returns the complaint that a parameter names a rank that does not exist; empty if all exist.
inline std::string absent_rank(std::string_view parameter, std::span<const Rank> named, Rank ranks) {
  const auto highest = std::max_element(named.begin(), named.end());
  if (highest == named.end() || *highest < ranks) return {};
  return "--" + std::string(parameter) + " names rank " + std::to_string(*highest) + ", but there are " +
         std::to_string(ranks) + " ranks, 0 to " + std::to_string(ranks - 1);
}

}  // namespace crosscut::patterns
