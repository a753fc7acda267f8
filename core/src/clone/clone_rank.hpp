// One process of a session that clones: rank 0 reads the source; every other rank writes a copy and passes it
// on. The session is like that of measuring ranks (roster, secret, pings), with `backend` "clone". Returns
// the exit status, or throws the reason why this rank failed.
#pragma once

#include "session/rank.hpp"
#include "session/socket.hpp"

namespace crosscut::clone {

// Returns the exit status, or throws what this rank could not do.
int run_clone_rank(const session::RankSetup& setup);

// Works in the chain (clone_worker.cpp) until the session ends. Throws ConnectionLost if the conductor is
// gone.
void work_on_copy(const session::RankSetup& setup, const session::Address& conductor);

}  // namespace crosscut::clone
