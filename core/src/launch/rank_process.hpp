// Runs a rank in a process of its own, which never outlives its parent, and describes how it ended.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/rank.hpp"

namespace crosscut::launch {

using RankBody = std::function<int(const session::RankSetup&)>;

// A failing rank's reason, for the process that forked it, in memory that both map. It needs neither a
// connection nor a reader at that moment, so it arrives however the network failed.
class LastWords {
 public:
  // The reason is passed on through a pipe that nothing may read yet, so those of many ranks must fit in it.
  static constexpr std::size_t bytes_max = 500;

  // Returns those of `count` ranks, before the first fork. They share one mapping, for every fork copies each
  // mapping of its parent. Throws RunError.
  static std::vector<LastWords> of_ranks(std::size_t count);
  void say(std::string_view text) const;  // called by the rank; truncated to bytes_max
  std::string heard() const;              // called by its parent after its end: one printable line, or empty

 private:
  explicit LastWords(std::shared_ptr<char[]> text) : text_(std::move(text)) {}
  std::shared_ptr<char[]> text_;  // of bytes_max
};

struct RankProcess {
  session::RankSetup setup;
  std::optional<int> core;      // to pin the rank to
  std::span<const int> closed;  // descriptors of the node that the rank must not keep open
  sigset_t signals{};           // the signal mask the rank runs with
  const LastWords& last_words;
};

// Forks and runs `body` in the child, which never returns. Returns the child's process ID. The caller must
// have a single thread. The child is killed when the caller ends, however it ends. Rank 0 keeps its streams;
// the others get no input, and their standard output goes to standard error, because standard output belongs
// to rank 0.
pid_t fork_rank(const RankProcess& process, const RankBody& body);

// Makes the calling process, just forked, die with `parent`.
void die_with(pid_t parent);

// Describes a wait status: "was killed by signal 11 (Segmentation fault)", "exited with status 3".
std::string describe_end(int wait_status);
bool ended_well(int wait_status);

}  // namespace crosscut::launch
