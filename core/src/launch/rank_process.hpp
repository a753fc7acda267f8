// Runs a rank in its own process: forked, never orphaned, its end described.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "session/rank.hpp"

namespace crosscut::launch {

using RankBody = std::function<int(const session::RankSetup&)>;

// The last words of a rank, for the process that forked it: a page of memory that both map. They need neither
// a connection nor a reader in time, so they arrive however the network failed.
class LastWords {
 public:
  // Reports go through a pipe that may not be drained yet, so many ranks' words must fit in it.
  static constexpr std::size_t bytes_max = 500;

  LastWords();                            // before the fork; throws RunError
  void say(std::string_view text) const;  // called by the rank; cut at bytes_max
  std::string heard() const;              // by its launcher, after its end: one printable line; empty: none

 private:
  std::shared_ptr<char[]> page_;  // of bytes_max
};

struct RankProcess {
  session::RankSetup setup;
  std::optional<int> core;      // to pin the rank to
  std::span<const int> closed;  // descriptors of the node that the rank must not keep open
  sigset_t signals{};           // the signal mask the rank runs with
  const LastWords& last_words;
};

// Forks and runs `body` in the child, which never returns. The caller must have a single thread. The child is
// killed when the caller ends, in whatever way. Rank 0 keeps its streams; the others get no input, and their
// standard output goes to standard error, because standard output is rank 0's alone.
pid_t fork_rank(const RankProcess& process, const RankBody& body);

// Called after fork: makes the calling process die with `parent`.
void die_with(pid_t parent);

// "was killed by signal 11 (Segmentation fault)", "exited with status 3".
std::string describe_end(int wait_status);
bool ended_well(int wait_status);

}  // namespace crosscut::launch
