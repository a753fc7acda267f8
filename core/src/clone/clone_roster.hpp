// The conductor's knowledge of every rank that takes part in a copy, and its report on them at the end.
#pragma once

#include <string>
#include <vector>

#include "clone/clone_messages.hpp"

namespace crosscut::clone {

struct CloneMember {
  enum class State : std::uint8_t {
    unfinished,
    complete,  // all is on its disk; not yet verified
    verified,  // its SHA-256 is the source's, and the copy is in its place
    differs,
    lost,  // gone, or could not continue
  };
  std::string node;
  std::int32_t machine = 0;  // equal for ranks of one machine
  Prepared prepared;
  Standing standing;
  State state = State::unfinished;
  bool is_gone = false;        // has left the chain; a verified copy stays verified
  bool is_committing = false;  // its copy was verified and is being put in its place
  double seconds = 0;          // from the start until all was on its disk
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
  bool all_settled() const;  // targets only
  bool all_verified() const;
  // Describes two ranks that would write to the same file or device, or one that would overwrite the source;
  // empty: none.
  std::string collision() const;

  // Returns the living target with the fewest bytes.
  Rank slowest() const;
  json::Array outcome() const;

 private:
  std::vector<CloneMember> members_;
};

}  // namespace crosscut::clone
