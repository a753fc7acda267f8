#include "tests/checking/check_program.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "tests/checking/rehearsal.hpp"

namespace crosscut::program {
namespace {

std::string fields_outside(const Op& op, const Extent& extent, Rank rank, Rank ranks) {
  const bool reads_received = op.kind == Op::Kind::receive || op.forwards >= 0;
  const std::int64_t buffer = op.kind == Op::Kind::collective
                                  ? std::min(extent.send_bytes, extent.receive_bytes)
                              : reads_received ? extent.receive_bytes
                                               : extent.send_bytes;
  if (op.kind == Op::Kind::collective && !extent.collectives) return "a collective outside the extent";
  if (op.adds && !(extent.adds && op.kind == Op::Kind::receive)) return "adds outside the extent";
  if (op.peer < 0 || op.peer >= ranks) return "peer " + std::to_string(op.peer) + " is no rank";
  if (op.peer == rank) return "peer is the rank itself";
  if (op.origin < -1 || op.origin >= ranks) return "origin " + std::to_string(op.origin) + " is no rank";
  if (op.channel >= extent.channels) return "channel " + std::to_string(op.channel) + " outside the extent";
  if (op.rails < 1 || op.rail + op.rails > extent.rails)
    return "rail " + std::to_string(op.rail) + " outside the extent";
  if (op.messages != (op.is_signal ? 1 : extent.window))
    return std::to_string(op.messages) + " messages in flight";
  if (op.bytes < 0 || op.offset < 0 || op.offset > buffer || op.all_bytes() > buffer - op.offset)
    return std::to_string(op.all_bytes()) + " bytes at " + std::to_string(op.offset) +
           " lie outside the buffer of " + std::to_string(buffer);
  if (op.slot < -1 || op.slot >= extent.slots)
    return "slot " + std::to_string(op.slot) + " outside the extent";
  if (!(op.divisor > 0) || !std::isfinite(op.divisor)) return "divisor is not positive";
  if (op.sample_bytes < -1) return "negative sample_bytes";
  return {};
}

// One rank's program of a phase, indexed to answer "is a complete before b starts?" quickly.
class Program {
 public:
  Program(const std::vector<Op>& ops) : ops_(ops), prefix_(ops.size(), -1) {}

  std::string check(const Extent& extent, Rank rank, Rank ranks, const std::vector<Rank>& peers) {
    std::vector<bool> slots(static_cast<std::size_t>(std::max(extent.slots, 0)));
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      std::string problem = fields_outside(op, extent, rank, ranks);
      if (problem.empty() && !std::binary_search(peers.begin(), peers.end(), op.peer))
        problem = "rank " + std::to_string(op.peer) + " is not among peers()";
      if (problem.empty()) problem = later_reference(op, static_cast<OpIndex>(i));
      if (problem.empty() && op.slot >= 0 && slots[static_cast<std::size_t>(op.slot)])
        problem = "slot " + std::to_string(op.slot) + " is used twice";
      if (problem.empty() && op.kind == Op::Kind::collective && i > 0 &&
          !comes_after(static_cast<OpIndex>(i), static_cast<OpIndex>(i) - 1))
        problem = "a collective beside the operation before it";
      if (problem.empty()) problem = order_on_lane(static_cast<OpIndex>(i));
      if (problem.empty()) problem = overlap_or_early_forward(static_cast<OpIndex>(i));
      if (!problem.empty()) return at_operation(rank, i, problem);
      if (op.slot >= 0) slots[static_cast<std::size_t>(op.slot)] = true;
    }
    return {};
  }

 private:
  const Op& at(OpIndex index) const { return ops_[static_cast<std::size_t>(index)]; }

  static std::string later_reference(const Op& op, OpIndex index) {
    for (const OpIndex other : {op.after[0], op.after[1], op.since, op.forwards})
      if (other < phase_start || other >= index)
        return "refers to operation " + std::to_string(other) + ", which is not an earlier one";
    return {};
  }

  // True if `earlier` is always complete before `later` may start.
  bool comes_after(OpIndex later, OpIndex earlier) const {
    std::vector<OpIndex> open{later};
    std::vector<bool> seen(static_cast<std::size_t>(later - earlier) + 1);
    while (!open.empty()) {
      const OpIndex index = open.back();
      open.pop_back();
      if (prefix_[static_cast<std::size_t>(index)] >= earlier) return true;
      for (const OpIndex before : at(index).after) {
        if (before == earlier) return true;
        if (before < earlier || seen[static_cast<std::size_t>(before - earlier)]) continue;
        seen[static_cast<std::size_t>(before - earlier)] = true;
        open.push_back(before);
      }
    }
    return false;
  }

  // This operation waits for everything that the previous one on its lane waits for.
  std::string order_on_lane(OpIndex index) {
    const Op& op = at(index);
    OpIndex& prefix = prefix_[static_cast<std::size_t>(index)];
    for (const OpIndex before : op.after) {
      if (before < 0) continue;
      const OpIndex known = prefix_[static_cast<std::size_t>(before)];
      prefix = std::max(prefix, known == before - 1 ? before : known);
    }
    const auto [entry, is_first] =
        newest_on_lane_.try_emplace({op.kind, op.peer, op.channel, op.rail}, index);
    if (is_first) return {};
    const OpIndex previous = std::exchange(entry->second, index);
    for (const OpIndex before : at(previous).after) {
      if (before >= 0 && !comes_after(index, before))
        return "may be posted before operation " + std::to_string(previous) + ", earlier on the same lane";
    }
    return {};
  }

  std::string overlap_or_early_forward(OpIndex index) {
    const Op& op = at(index);
    if (op.kind == Op::Kind::send) return op.forwards < 0 ? std::string() : wrong_forward(index);
    if (op.bytes == 0) return {};
    auto other = receiving_.lower_bound(op.offset);
    if (other != receiving_.begin() && std::prev(other)->second.first > op.offset) --other;
    while (other != receiving_.end() && other->first < op.offset + op.all_bytes()) {
      if (!comes_after(index, other->second.second))
        return "receives over operation " + std::to_string(other->second.second) +
               ", which may not be complete";
      other = receiving_.erase(other);
    }
    receiving_[op.offset] = {op.offset + op.all_bytes(), index};
    return {};
  }
  std::string wrong_forward(OpIndex index) const {
    const Op& op = at(index);
    const Op& source = at(op.forwards);
    if (source.kind != Op::Kind::receive) return "forwards what is no receive";
    if (op.offset < source.offset || op.offset + op.all_bytes() > source.offset + source.all_bytes())
      return "forwards bytes that its receive did not bring";
    if (!comes_after(index, op.forwards)) return "may forward before its receive is complete";
    return {};
  }

  const std::vector<Op>& ops_;
  std::vector<OpIndex> prefix_;  // [operation] all operations up to this one are complete before it
  std::map<std::tuple<Op::Kind, Rank, std::uint8_t, std::uint8_t>, OpIndex> newest_on_lane_;
  std::map<std::int64_t, std::pair<std::int64_t, OpIndex>> receiving_;  // begin -> end, newest operation
};

std::string check_peers(const std::vector<std::vector<Rank>>& peers) {
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    const std::string where = "peers of rank " + std::to_string(rank) + ": ";
    const auto self = static_cast<Rank>(rank);
    const auto unsorted = std::adjacent_find(peers[rank].begin(), peers[rank].end(), std::greater_equal<>());
    if (unsorted != peers[rank].end()) return where + "not sorted, or one twice";
    for (const Rank peer : peers[rank]) {
      if (peer < 0 || static_cast<std::size_t>(peer) >= peers.size() || peer == self)
        return where + std::to_string(peer) + " is no other rank";
      const std::vector<Rank>& theirs = peers[static_cast<std::size_t>(peer)];
      if (!std::binary_search(theirs.begin(), theirs.end(), self))
        return where + std::to_string(peer) + " does not name it in turn";
    }
  }
  return {};
}

Programs emit_all(const Pattern& pattern, Rank ranks, std::int64_t bytes, std::int64_t index) {
  Programs programs(static_cast<std::size_t>(ranks));
  const std::unique_ptr<Phase> phase = pattern.phase(ranks, bytes, index);
  for (Rank rank = 0; rank < ranks; ++rank) phase->emit(rank, programs[static_cast<std::size_t>(rank)]);
  return programs;
}

std::uint64_t fingerprint(const Programs& programs) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a, over fields instead of bytes: Op has padding
  const auto mix = [&hash](auto value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211u;
  };
  for (const std::vector<Op>& ops : programs) {
    mix(ops.size());
    for (const Op& op : ops) {
      mix(op.kind), mix(op.channel), mix(op.rail), mix(op.peer), mix(op.bytes), mix(op.offset);
      mix(op.after[0]), mix(op.after[1]), mix(op.forwards), mix(op.origin), mix(op.slot), mix(op.since);
      mix(op.divisor * 1024), mix(op.sample_bytes), mix(op.messages), mix(op.rails);
    }
  }
  return hash;
}

std::string check_credited(const Phase& phase, Rank ranks) {
  for (Rank rank = 0; rank < ranks; ++rank) {
    const double bytes = phase.credited_bytes(rank);
    if (!(bytes >= 0) || !std::isfinite(bytes)) return "rank " + std::to_string(rank) + ": bytes credited";
  }
  return {};
}

}  // namespace

std::string check_program(const Pattern& pattern, Rank ranks, std::int64_t bytes, const ProgramCheck& check) {
  const Extent extent = pattern.extent(ranks, bytes);
  if (extent.phases < 1 || extent.slots < 1 || extent.channels < 1 || extent.channels > 256 ||
      extent.rails < 1 || extent.send_bytes < 0 || extent.receive_bytes < 0)
    return "the extent makes no sense";
  std::vector<std::vector<Rank>> peers;
  for (Rank rank = 0; rank < ranks; ++rank) peers.push_back(pattern.peers(rank, ranks));
  if (std::string problem = check_peers(peers); !problem.empty()) return problem;

  const std::int64_t phases = std::min(extent.phases, check.most_phases);
  std::vector<std::uint64_t> fingerprints;
  const auto index_of = [&](std::int64_t i) { return i * extent.phases / phases; };
  for (std::int64_t i = 0; i < phases; ++i) {
    const std::string where = "phase " + std::to_string(index_of(i) + 1) + ", ";
    const Programs programs = emit_all(pattern, ranks, bytes, index_of(i));
    std::string problem;
    for (Rank rank = 0; rank < ranks && problem.empty(); ++rank)
      problem = Program(programs[static_cast<std::size_t>(rank)])
                    .check(extent, rank, ranks, peers[static_cast<std::size_t>(rank)]);
    if (problem.empty()) problem = check_matching(programs);
    if (problem.empty()) problem = check_completion(programs, check.seed + static_cast<std::uint64_t>(i));
    if (problem.empty()) problem = check_credited(*pattern.phase(ranks, bytes, index_of(i)), ranks);
    if (!problem.empty()) return where + problem;
    fingerprints.push_back(fingerprint(programs));
  }
  for (std::int64_t i = phases - 1; i >= 0; --i) {
    if (fingerprint(emit_all(pattern, ranks, bytes, index_of(i))) !=
        fingerprints[static_cast<std::size_t>(i)])
      return "phase " + std::to_string(index_of(i) + 1) + " is not the same when made again";
  }
  return {};
}

}  // namespace crosscut::program
