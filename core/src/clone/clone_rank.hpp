// One process of a session that clones: rank 0 reads the source; every other rank writes a copy and passes it
// on. The session works like one that measures (joining, secret, pings), with `backend` "clone".
#pragma once

#include "session/rank.hpp"
#include "session/socket.hpp"

namespace crosscut::clone {

// Runs one rank until the session ends. Returns the exit status. Throws the error that stops this rank.
int run_clone_rank(const session::RankSetup& setup);

// Works in the chain (clone_worker.cpp) until the session ends. Throws ConnectionLost if the conductor is
// gone.
void work_on_copy(const session::RankSetup& setup, const session::Address& conductor);

}  // namespace crosscut::clone
