// The conductor's record of every rank that takes part in a copy, and its final report on them.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "base/words.hpp"
#include "clone/clone_messages.hpp"

namespace crosscut::clone {

struct CloneMember {
  enum class State : std::uint8_t {
    unfinished,
    complete,  // the copy is on disk but not yet verified
    verified,  // its SHA-256 is the source's, and the copy is in place
    differs,
    lost,  // gone, or could not continue
  };
  std::string node;
  std::int32_t machine = 0;  // equal for ranks of one machine
  Prepared prepared;
  Standing standing;
  State state = State::unfinished;
  bool is_gone = false;        // has left the chain; a verified copy stays verified
  bool is_committing = false;  // its copy was verified and is being moved into place
  double seconds = 0;          // from the start until the copy was on disk
  std::string reason;

  std::int64_t held_bytes() const { return standing.received_bytes + standing.kept_bytes; }
  bool is_settled() const { return state != State::unfinished && state != State::complete; }
};

// In the order of CloneMember::State.
inline constexpr std::array state_names{"unfinished", "unfinished", "verified", "differs", "lost"};

class CloneRoster {
 public:
  explicit CloneRoster(std::size_t ranks) : members_(ranks) {}

  CloneMember& of(Rank rank) { return members_[static_cast<std::size_t>(rank)]; }
  const CloneMember& of(Rank rank) const { return members_[static_cast<std::size_t>(rank)]; }
  Rank ranks() const { return static_cast<Rank>(members_.size()); }
  std::string name(Rank rank) const { return "rank " + std::to_string(rank) + " on " + of(rank).node; }
  std::vector<Rank> living() const {
    std::vector<Rank> list;
    for (Rank rank = 0; rank < ranks(); ++rank)
      if (!of(rank).is_gone) list.push_back(rank);
    return list;
  }
  // Both consider targets only.
  bool all_settled() const {
    return std::all_of(members_.begin() + 1, members_.end(),
                       [](const auto& one) { return one.is_settled(); });
  }
  bool all_verified() const {
    return std::all_of(members_.begin() + 1, members_.end(),
                       [](const auto& one) { return one.state == CloneMember::State::verified; });
  }
  // Describes two ranks that would write the same file or device, or one that would overwrite the source;
  // empty if there are none.
  std::string collision() const {
    std::map<std::pair<std::int32_t, std::string>, Rank> written;
    for (Rank rank = 1; rank < ranks(); ++rank) {
      const CloneMember& member = of(rank);
      if (member.machine == of(0).machine && overlap(member.prepared, of(0).prepared))
        return name(rank) + " would write over the source, " + of(0).prepared.path;
      const auto [at, is_new] = written.emplace(std::pair(member.machine, member.prepared.path), rank);
      if (!is_new)
        return name(rank) + " and " + name(at->second) + " would both write " + member.prepared.path +
               "; put {rank} or {host} into the target's name";
    }
    return {};
  }

  // Returns why nothing may be written to the targets' devices yet, with the code that confirms just these;
  // empty if `confirmed` is this code, or if all targets are files.
  std::string unconfirmed(const std::string& confirmed) const {
    std::string listed, ids;
    for (Rank rank = 1; rank < ranks(); ++rank) {
      const CloneMember& member = of(rank);
      if (member.prepared.device_id.empty()) continue;
      listed += "\n  " + name(rank) + ": " + member.prepared.path + " (" + member.prepared.device + ")";
      ids += member.node + "\n" + member.prepared.device_id + "\n";
    }
    const std::string code = hex(Sha256().add(octets(ids)).finish()).substr(0, code_letters);
    if (ids.empty() || confirmed == code) return {};
    return (confirmed.empty() ? "everything on these devices would be lost:"
                              : "--confirm " + confirmed + " was given for other devices than these:") +
           listed + "\nto overwrite just these, repeat the command with --confirm " + code;
  }

  // Returns the living, unsettled target with the fewest bytes held and checked; -1 if there is none.
  Rank slowest() const {
    Rank slowest = -1;
    const auto done = [](const CloneMember& one) { return one.held_bytes() + one.standing.checked_bytes; };
    for (const Rank rank : living())
      if (rank > 0 && !of(rank).is_settled() && (slowest < 0 || done(of(rank)) < done(of(slowest))))
        slowest = rank;
    return slowest;
  }
  json::Array outcome() const {
    json::Array nodes;
    for (Rank rank = 1; rank < ranks(); ++rank) {
      const CloneMember& member = of(rank);
      nodes.emplace_back(json::Object{{"rank", rank},
                                      {"node", member.node},
                                      {"target", member.prepared.path},
                                      {"state", state_names[static_cast<std::size_t>(member.state)]},
                                      {"held_bytes", member.held_bytes()},
                                      {"received_bytes", member.standing.received_bytes},
                                      {"kept_bytes", member.standing.kept_bytes},
                                      {"seconds", member.seconds},
                                      {"sha256", member.standing.sha256},
                                      {"reason", member.reason}});
    }
    return nodes;
  }

 private:
  static constexpr std::size_t code_letters = 10;

  // True if writing to the target would change the source: the same file or device, or a disk and its
  // partition.
  static bool overlap(const Prepared& target, const Prepared& source) {
    const bool is_one_disk = !target.disk.empty() && target.disk == source.disk;
    return target.place == source.identity || (is_one_disk && (target.is_whole_disk || source.is_whole_disk));
  }

  std::vector<CloneMember> members_;
};

}  // namespace crosscut::clone
