// Joins a rank to a session: listens, connects to the conductor, authenticates, and describes the node.
#pragma once

#include <vector>

#include "session/handshake.hpp"
#include "session/rank.hpp"

namespace crosscut::session {

struct Membership {
  Fd control;                       // authenticated connection to the conductor
  std::vector<Acceptor> acceptors;  // one per rail, and one more if control has an interface of its own
  std::vector<Address> interfaces;  // one per rail
  Address control_interface;        // of barriers
};

// Parses the setup's comma-separated list of interfaces. Throws UsageError naming this node.
std::vector<Address> interfaces_of(const RankSetup& setup);
// Returns the interface of barriers and of the conductor. Throws UsageError naming this node.
Address control_interface_of(const RankSetup& setup);

// Joins the session. Throws RunError if the conductor cannot be reached within the setup's time-out. If an
// interface is wrong, tells the conductor and throws UsageError.
Membership join(const RankSetup& setup, const Address& conductor);

}  // namespace crosscut::session
