// Joins a rank to a session: it listens, connects to the conductor, authenticates and describes its node.
#pragma once

#include <vector>

#include "session/handshake.hpp"
#include "session/rank.hpp"

namespace crosscut::session {

struct Membership {
  Fd control;                       // authenticated connection to the conductor
  std::vector<Acceptor> acceptors;  // one a rail
  std::vector<Address> interfaces;  // one a rail
};

// Returns the interfaces of the setup, a list separated by commas. Throws UsageError.
std::vector<Address> interfaces_of(const RankSetup& setup);

// Throws RunError if the conductor cannot be reached within the setup's time-out.
Membership join(const RankSetup& setup, const Address& conductor);

}  // namespace crosscut::session
