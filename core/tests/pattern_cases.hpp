// Makes patterns for tests, and lists the pairs of ranks in a phase.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "program/registry.hpp"

namespace crosscut::tests {

using Given = std::map<std::string, std::string>;
using RankPair = std::pair<Rank, Rank>;  // source, destination

inline std::unique_ptr<program::Pattern> make_pattern(std::string_view name, const Given& given = {}) {
  const program::PatternInfo& info = program::find_pattern(name);
  return info.make(program::Parameters(info.parameters, given, "pattern " + std::string(name)));
}

inline std::vector<program::Op> program_of(const program::Pattern& pattern, Rank rank, Rank ranks,
                                           std::int64_t phase, std::int64_t bytes = 1000) {
  std::vector<program::Op> ops;
  pattern.phase(ranks, bytes, phase)->emit(rank, ops);
  return ops;
}

// One entry for each send that carries bytes; ranks count from 0.
inline std::multiset<RankPair> routes(const program::Pattern& pattern, Rank ranks, std::int64_t phase,
                                      std::int64_t bytes = 1000) {
  std::multiset<RankPair> result;
  for (Rank rank = 0; rank < ranks; ++rank)
    for (const program::Op& op : program_of(pattern, rank, ranks, phase, bytes))
      if (op.kind == program::Op::Kind::send && op.bytes > 0) result.emplace(rank, op.peer);
  return result;
}

// Timed routes: (rank with the slot, its peer).
inline std::multiset<RankPair> timed(const program::Pattern& pattern, Rank ranks, std::int64_t phase) {
  std::multiset<RankPair> result;
  for (Rank rank = 0; rank < ranks; ++rank)
    for (const program::Op& op : program_of(pattern, rank, ranks, phase))
      if (op.slot >= 0) result.emplace(rank, op.peer);
  return result;
}

// Unordered pairs that exchange, lower rank first.
inline std::set<RankPair> pairs_of(const program::Pattern& pattern, Rank ranks, std::int64_t phase) {
  std::set<RankPair> result;
  for (const auto& [source, destination] : routes(pattern, ranks, phase))
    result.emplace(std::min(source, destination), std::max(source, destination));
  return result;
}

}  // namespace crosscut::tests
