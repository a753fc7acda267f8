// How a rank comes into a session: it listens, finds the conductor, proves itself and says what it is.
#pragma once

#include <vector>

#include "session/handshake.hpp"
#include "session/rank.hpp"

namespace crosscut::session {

struct Membership {
  Fd control;                       // proven, to the conductor
  std::vector<Acceptor> acceptors;  // one a rail
  std::vector<Address> interfaces;  // one a rail
};

// Of the setup, which separates them by commas. Throws UsageError.
std::vector<Address> interfaces_of(const RankSetup& setup);

// Throws RunError when the conductor cannot be reached within the setup's time-out.
Membership join(const RankSetup& setup, const Address& conductor);

}  // namespace crosscut::session
