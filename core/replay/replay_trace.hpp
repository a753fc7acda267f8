// What the ranks of a traced program did, as `crosscut-core replay` reads it: SimGrid's time-independent
// format, collective calls already written out as messages (src/crosscut/prediction/lowering.py).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "program/program.hpp"

namespace crosscut::replay {

struct Action {
  enum class Kind : std::uint8_t { compute, sleep, send, start_send, receive, start_receive, wait, wait_all };
  Kind kind = Kind::compute;
  bool of_send = false;    // wait: for a message that this rank sends
  Rank peer = -1;          // of a message the other end
  std::int32_t tag = 0;    // of a message
  std::uint32_t line = 0;  // in the file of the rank
  double amount = 0;       // operations, seconds, bytes
};

struct ReplayTrace {
  std::vector<std::filesystem::path> files;  // [rank]
  std::vector<std::vector<Action>> actions;  // [rank]
  Rank ranks() const { return static_cast<Rank>(actions.size()); }
};

// `index` names the ranks' files, one a line. Throws UsageError naming file and line.
ReplayTrace read_replay_trace(const std::filesystem::path& index);

}  // namespace crosscut::replay
