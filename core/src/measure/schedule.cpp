#include "measure/schedule.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "program/in_flight.hpp"

namespace crosscut::measure {
namespace {

// Finds the operations that cannot run: those whose rank or peer is lost, those that wait for one that cannot
// run, and those whose matching operation cannot run.
class Unrunnable {
 public:
  Unrunnable(const std::vector<std::vector<program::Op>>& all, std::span<const Rank> lost)
      : all_(all), dead_(all.size()) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) dead_[rank].resize(all[rank].size());
    match();
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const bool gone = std::binary_search(lost.begin(), lost.end(), static_cast<Rank>(rank));
      for (std::size_t i = 0; i < all[rank].size(); ++i) {
        if (gone || std::binary_search(lost.begin(), lost.end(), all[rank][i].peer)) kill(rank, i);
      }
    }
    spread();
  }
  const std::vector<bool>& of(Rank rank) const { return dead_[static_cast<std::size_t>(rank)]; }

 private:
  using Spot = std::pair<std::size_t, std::size_t>;  // rank, operation
  using Lane = std::tuple<std::size_t, std::size_t, std::uint8_t, std::uint8_t>;

  void match() {
    std::map<Lane, std::pair<std::vector<Spot>, std::vector<Spot>>> lanes;
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      for (std::size_t i = 0; i < all_[rank].size(); ++i) {
        const auto& op = all_[rank][i];
        const auto peer = static_cast<std::size_t>(op.peer);
        if (op.kind == program::Op::Kind::send) {
          lanes[{rank, peer, op.channel, op.rail}].first.emplace_back(rank, i);
        } else {
          lanes[{peer, rank, op.channel, op.rail}].second.emplace_back(rank, i);
        }
      }
    }
    for (const auto& [lane, ends] : lanes) {
      for (std::size_t i = 0; i < std::min(ends.first.size(), ends.second.size()); ++i) {
        partner_[ends.first[i]] = ends.second[i];
        partner_[ends.second[i]] = ends.first[i];
      }
    }
  }
  void kill(std::size_t rank, std::size_t op) {
    if (dead_[rank][op]) return;
    dead_[rank][op] = true;
    work_.emplace_back(rank, op);
  }
  void spread() {
    while (!work_.empty()) {
      const auto [rank, op] = work_.back();
      work_.pop_back();
      if (const auto partner = partner_.find({rank, op}); partner != partner_.end()) {
        kill(partner->second.first, partner->second.second);
      }
      for (std::size_t later = op + 1; later < all_[rank].size(); ++later) {
        const auto& after = all_[rank][later].after;
        if (after[0] == static_cast<program::OpIndex>(op) || after[1] == static_cast<program::OpIndex>(op))
          kill(rank, later);
      }
    }
  }

  const std::vector<std::vector<program::Op>>& all_;
  std::vector<std::vector<bool>> dead_;
  std::map<Spot, Spot> partner_;
  std::vector<Spot> work_;
};

// Removes the marked operations and renumbers references to the others. If the operation that starts a sample
// is removed, the sample starts with the phase. That matters only if the end of the sample did not depend on
// that operation, since otherwise the end is removed too.
void remove(std::vector<program::Op>& ops, const std::vector<bool>& dead) {
  std::vector<program::OpIndex> renumbered(ops.size(), program::phase_start);
  std::vector<program::Op> kept;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (dead[i]) continue;
    renumbered[i] = static_cast<program::OpIndex>(kept.size());
    kept.push_back(ops[i]);
  }
  const auto moved = [&](program::OpIndex& index) {
    if (index >= 0) index = renumbered[static_cast<std::size_t>(index)];
  };
  for (auto& op : kept) {
    moved(op.after[0]), moved(op.after[1]), moved(op.since), moved(op.forwards);
  }
  ops = std::move(kept);
}

// Rounds up to whole cache lines, so that every receive starts on a line of its own.
std::size_t whole_cache_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

void count_dependencies(Schedule& schedule) {
  const auto count = schedule.ops.size();
  schedule.wants_posted.assign(count, 0);
  schedule.waits_for.assign(count, 0);
  schedule.first_dependent.assign(count + 1, 0);
  schedule.linear = true;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& op = schedule.ops[i];
    if (op.since >= 0) schedule.wants_posted[static_cast<std::size_t>(op.since)] = 1;
    for (const auto before : op.after) {
      if (before < 0) continue;
      ++schedule.waits_for[i];
      ++schedule.first_dependent[static_cast<std::size_t>(before) + 1];
    }
    if (schedule.waits_for[i] == 0) schedule.roots.push_back(static_cast<program::OpIndex>(i));
    const auto previous = static_cast<program::OpIndex>(i) - 1;
    if (i > 0 && op.after[0] != previous && op.after[1] != previous) schedule.linear = false;
    if (op.messages > 1 || op.rails > 1) schedule.linear = false;
  }
  for (std::size_t i = 0; i < count; ++i) schedule.first_dependent[i + 1] += schedule.first_dependent[i];
  schedule.dependents.resize(static_cast<std::size_t>(schedule.first_dependent[count]));
  auto next = schedule.first_dependent;
  for (std::size_t i = 0; i < count; ++i) {
    for (const auto before : schedule.ops[i].after) {
      if (before < 0) continue;
      schedule.dependents[static_cast<std::size_t>(next[static_cast<std::size_t>(before)]++)] =
          static_cast<program::OpIndex>(i);
    }
  }
}

void list_messages(Schedule& schedule) {
  schedule.first_message.push_back(0);
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    program::for_each_message(schedule.ops[i], [&](const program::Op& message) {
      schedule.messages.push_back(message);
      schedule.op_of.push_back(static_cast<program::OpIndex>(i));
    });
    schedule.first_message.push_back(static_cast<program::OpIndex>(schedule.messages.size()));
  }
}

}  // namespace

Schedule make_schedule(const program::Pattern& pattern, Rank rank, Rank ranks, std::int64_t bytes,
                       std::int64_t phase, std::span<const Rank> lost) {
  Schedule schedule;
  schedule.phase = phase;
  const auto made = pattern.phase(ranks, bytes, phase);
  if (lost.empty()) {
    made->emit(rank, schedule.ops);
  } else {
    std::vector<std::vector<program::Op>> all(static_cast<std::size_t>(ranks));
    for (Rank each = 0; each < ranks; ++each) made->emit(each, all[static_cast<std::size_t>(each)]);
    const Unrunnable unrunnable(all, lost);
    const auto& dead = unrunnable.of(rank);
    schedule.ops = std::move(all[static_cast<std::size_t>(rank)]);
    schedule.skipped = std::find(dead.begin(), dead.end(), true) != dead.end();
    remove(schedule.ops, dead);
  }
  count_dependencies(schedule);
  list_messages(schedule);
  return schedule;
}

std::size_t bytes_apart(const Schedule& schedule) {
  std::size_t bytes = 0;
  for (const auto& op : schedule.ops) {
    if (op.kind == program::Op::Kind::receive)
      bytes += whole_cache_lines(static_cast<std::size_t>(op.all_bytes()));
  }
  return bytes;
}

void assign_memory(Schedule& schedule, const Buffers& buffers) {
  schedule.data.resize(schedule.messages.size());
  const auto first_of = [&](program::OpIndex op) {
    return static_cast<std::size_t>(schedule.first_message[static_cast<std::size_t>(op)]);
  };
  std::size_t apart = 0;
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    const auto& op = schedule.ops[i];
    std::byte* data = nullptr;
    if (op.forwards >= 0) {
      const auto& brought = schedule.ops[static_cast<std::size_t>(op.forwards)];
      data = schedule.data[first_of(op.forwards)] + (op.offset - brought.offset);
    } else if (op.kind == program::Op::Kind::receive && !buffers.apart.empty()) {
      data = buffers.apart.data() + apart;
      apart += whole_cache_lines(static_cast<std::size_t>(op.all_bytes()));
    } else {
      const bool sends = op.kind == program::Op::Kind::send || op.in_place;
      const auto& buffer = sends ? buffers.send : buffers.receive;
      data = buffer.data() + op.offset;
    }
    const auto end = static_cast<std::size_t>(schedule.first_message[i + 1]);
    for (auto message = first_of(static_cast<program::OpIndex>(i)); message < end; ++message)
      schedule.data[message] = data + (schedule.messages[message].offset - op.offset);
  }
}

std::vector<ConnectionId> connections_of(std::span<const Schedule> schedules) {
  std::vector<ConnectionId> ids;
  for (const auto& schedule : schedules) {
    for (const auto& op : schedule.messages) ids.push_back({op.peer, op.channel, op.rail});
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<ConnectionId> connections_of(const program::Pattern& pattern, Rank rank, Rank ranks,
                                         std::int64_t bytes) {
  const auto extent = pattern.extent(ranks, bytes);
  const auto all = static_cast<std::size_t>(ranks - 1) * static_cast<std::size_t>(extent.channels) *
                   static_cast<std::size_t>(extent.rails);
  std::set<ConnectionId> ids;
  std::vector<program::Op> ops;
  for (std::int64_t phase = 0; phase < extent.phases && ids.size() < all; ++phase) {
    ops.clear();
    pattern.phase(ranks, bytes, phase)->emit(rank, ops);
    for (const auto& op : ops) {
      program::for_each_message(op, [&](const program::Op& message) {
        ids.insert({message.peer, message.channel, message.rail});
      });
    }
  }
  return {ids.begin(), ids.end()};
}

}  // namespace crosscut::measure
