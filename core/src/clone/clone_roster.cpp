#include "clone/clone_roster.hpp"

#include <algorithm>
#include <map>

namespace crosscut::clone {
namespace {

std::string_view name_of(CloneMember::State state) {
  switch (state) {
    case CloneMember::State::unfinished:
    case CloneMember::State::complete:
      return "unfinished";
    case CloneMember::State::verified:
      return "verified";
    case CloneMember::State::differs:
      return "differs";
    case CloneMember::State::lost:
      return "lost";
  }
  __builtin_unreachable();
}

}  // namespace

std::vector<Rank> CloneRoster::living() const {
  std::vector<Rank> list;
  for (Rank rank = 0; rank < ranks(); ++rank)
    if (!of(rank).is_gone) list.push_back(rank);
  return list;
}

bool CloneRoster::all_settled() const {
  return std::all_of(members_.begin() + 1, members_.end(), [](const auto& one) { return one.is_settled(); });
}

bool CloneRoster::all_verified() const {
  return std::all_of(members_.begin() + 1, members_.end(),
                     [](const auto& one) { return one.state == CloneMember::State::verified; });
}

std::string CloneRoster::collision() const {
  const auto name = [this](Rank rank) { return "rank " + std::to_string(rank) + " on " + of(rank).node; };
  std::map<std::pair<std::int32_t, std::string>, Rank> written;
  for (Rank rank = 1; rank < ranks(); ++rank) {
    const CloneMember& member = of(rank);
    if (member.machine == of(0).machine && member.prepared.place == of(0).prepared.identity)
      return name(rank) + " would write over the source, " + member.prepared.path;
    const auto [at, is_new] = written.emplace(std::pair(member.machine, member.prepared.path), rank);
    if (!is_new)
      return name(rank) + " and " + name(at->second) + " would both write " + member.prepared.path +
             "; put {rank} or {host} into the target's name";
  }
  return {};
}

Rank CloneRoster::slowest() const {
  Rank slowest = -1;
  const auto done = [](const CloneMember& one) { return one.held_bytes() + one.standing.checked_bytes; };
  for (const Rank rank : living())
    if (rank > 0 && !of(rank).is_settled() && (slowest < 0 || done(of(rank)) < done(of(slowest))))
      slowest = rank;
  return slowest;
}

json::Array CloneRoster::outcome() const {
  json::Array nodes;
  for (Rank rank = 1; rank < ranks(); ++rank) {
    const CloneMember& member = of(rank);
    nodes.emplace_back(json::Object{{"rank", rank},
                                    {"node", member.node},
                                    {"target", member.prepared.path},
                                    {"state", name_of(member.state)},
                                    {"held_bytes", member.held_bytes()},
                                    {"received_bytes", member.standing.received_bytes},
                                    {"kept_bytes", member.standing.kept_bytes},
                                    {"seconds", member.seconds},
                                    {"sha256", member.standing.sha256},
                                    {"reason", member.reason}});
  }
  return nodes;
}

}  // namespace crosscut::clone
