// A rank as a process of its own: forked, never orphaned, its end described.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "launch/last_words.hpp"
#include "session/rank.hpp"

namespace crosscut::launch {

using RankBody = std::function<int(const session::RankSetup&)>;

struct RankProcess {
  session::RankSetup setup;
  std::optional<int> core;      // to pin it to
  std::span<const int> closed;  // descriptors of the node that the rank must not keep open
  sigset_t signals{};           // the signal mask the rank runs with
  const LastWords& last_words;
};

// Forks and runs `body` in the child, which never returns. The caller must have a single thread. The child
// is killed when the caller ends, however that ends. Rank 0 keeps its streams; the others get no input, and
// their standard output becomes standard error, for standard output is rank 0's alone.
pid_t fork_rank(const RankProcess& process, const RankBody& body);

// After fork: ties the calling process's life to `parent`'s.
void die_with(pid_t parent);

// "was killed by signal 11 (Segmentation fault)", "exited with status 3".
std::string describe_end(int wait_status);
bool ended_well(int wait_status);

}  // namespace crosscut::launch
