// The actions of a traced program's ranks, as `crosscut-core replay` reads them: SimGrid's time-independent
// format with collective calls already expanded into messages (src/crosscut/prediction/lowering.py).
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
  Rank peer = -1;          // the other end of a message
  std::int32_t tag = 0;    // of a message
  std::uint32_t line = 0;  // in the rank's file
  double amount = 0;       // operations, seconds or bytes
};

struct ReplayTrace {
  std::vector<std::filesystem::path> files;  // [rank]
  std::vector<std::vector<Action>> actions;  // [rank]
  Rank ranks() const { return static_cast<Rank>(actions.size()); }
};

// Reads a trace; `index` names the ranks' files, one per line. Throws UsageError naming file and line.
ReplayTrace read_replay_trace(const std::filesystem::path& index);

}  // namespace crosscut::replay
