// Who computes, who serves, and on which processor.
#pragma once

#include <cstdint>
#include <string>

#include "data-server/settings.hpp"
#include "program/application.hpp"

namespace crosscut::data_server {

using npb::Communicator;

class Roles {
 public:
  Roles(int ranks, Arrangement arrangement) : pairs_(ranks / 2), arrangement_(arrangement) {}

  int pairs() const { return pairs_; }
  bool serves(int rank) const { return arrangement_ == Arrangement::pairs ? rank % 2 == 1 : rank >= pairs_; }
  // Of a rank, among those of its role: computing process k and server k are a pair.
  int index(int rank) const { return arrangement_ == Arrangement::pairs ? rank / 2 : rank % pairs_; }
  int computing_rank(int index) const { return arrangement_ == Arrangement::pairs ? 2 * index : index; }
  int serving_rank(int index) const {
    return arrangement_ == Arrangement::pairs ? 2 * index + 1 : pairs_ + index;
  }

 private:
  int pairs_;
  Arrangement arrangement_;
};

// Gives each process its processor, where that was asked for; throws Refusal on all ranks where it cannot be.
// Returns what came of it, for people.
std::string place(Communicator& world, const Roles& roles, Sharing sharing);

// Throws Refusal on all ranks where the servers of a machine would not have the memory for their columns of
// both arrays, before any is taken.
void refuse_too_large(Communicator& world, const Roles& roles, std::int64_t order);

}  // namespace crosscut::data_server
