// Collective operations, and the usual algorithms of each. Messages carry no sums: only their sizes and their
// order are those of the operation.
//
// Sources: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA
// 19(1), 2005, section 4; the rings of all-reduce and reduce-scatter: Patarasuk and Yuan, J. Parallel and
// Distributed Computing 69(2), 2009; pipelines: Sanders, Speck, Traeff: Two-Tree Algorithms for Full
// Bandwidth Broadcast, Reduction and Scan, Parallel Computing 35(12), 2009, section 2.
#pragma once

#include <span>
#include <string_view>

#include "patterns/rounds.hpp"

namespace crosscut::patterns {

using EmitRounds = void (*)(Rounds&);

struct Algorithm {
  std::string_view name;
  EmitRounds emit;
};

struct Operation {
  std::string_view name;
  program::Collective collective;
  std::span<const Algorithm> algorithms;
  // What libraries use for short vectors and for long ones (Thakur et al.).
  EmitRounds for_short, for_long;
  // Bus bandwidth (nccl-tests, doc/PERFORMANCE.md) counts the vector this many times, each but a rank's own
  // block; 0: the whole vector once.
  double times;
  bool reduces = false;   // adds what it receives
  bool in_place = false;  // the library's call is measured in place, too

  // Returns how often a rank's vector counts in the bus bandwidth.
  double share(Rank ranks) const {
    if (times == 0) return 1;
    if (collective == program::Collective::all_to_all_v) return 1 - 2 / (ranks * (ranks + 1.0));
    return times * (ranks - 1) / ranks;
  }
};

std::span<const Operation> operations();

// Returns the most messages that a rank sends and receives in a run of the algorithm: rank 0, the root of
// trees, or the last rank, which is never folded in.
std::int64_t messages_of(EmitRounds algorithm, Rank ranks);

// `name` must be that of an operation.
const Operation& operation_named(std::string_view name);

}  // namespace crosscut::patterns
