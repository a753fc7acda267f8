// One process of a session that clones: rank 0 reads the source, every other rank writes a copy and hands on
// what it has. The session is that of measuring ranks (roster, secret, signs of life); `backend` is "clone".
#pragma once

#include "session/rank.hpp"

namespace crosscut::clone {

// Returns the exit status, or throws what this rank could not do.
int run_clone_rank(const session::RankSetup& setup);

}  // namespace crosscut::clone
