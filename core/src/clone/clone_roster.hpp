// What the conductor knows of every rank that takes part in a copy, and what it says of them at the end.
#pragma once

#include <string>
#include <vector>

#include "clone/clone_messages.hpp"

namespace crosscut::clone {

struct CloneMember {
  enum class State : std::uint8_t {
    unfinished,
    complete,  // all is on its disk; whether it is right is not known yet
    verified,  // its SHA-256 is the source's, and the copy in its place
    differs,
    lost,  // gone, or could not go on
  };
  std::string node;
  std::int32_t machine = 0;  // the same for ranks of one
  Prepared prepared;
  Standing standing;
  State state = State::unfinished;
  bool is_gone = false;        // from the chain; a copy that was verified before stays so
  bool is_committing = false;  // its copy was found right, and is being put into its place
  double seconds = 0;          // from the beginning until all was on its disk
  std::string reason;

  std::int64_t held_bytes() const { return standing.received_bytes + standing.kept_bytes; }
  bool is_settled() const { return state != State::unfinished && state != State::complete; }
};

class CloneRoster {
 public:
  explicit CloneRoster(std::size_t ranks) : members_(ranks) {}

  CloneMember& of(Rank rank) { return members_[static_cast<std::size_t>(rank)]; }
  const CloneMember& of(Rank rank) const { return members_[static_cast<std::size_t>(rank)]; }
  Rank ranks() const { return static_cast<Rank>(members_.size()); }
  std::vector<Rank> living() const;
  bool all_settled() const;  // of the targets
  bool all_verified() const;
  // Two ranks that would write to one file or device, or one that would write over the source; empty: none.
  std::string collision() const;

  // The living target that has least.
  Rank slowest() const;
  json::Array outcome() const;

 private:
  std::vector<CloneMember> members_;
};

}  // namespace crosscut::clone
