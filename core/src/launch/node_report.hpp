// What a node tells whoever started it, as lines of JSON on its standard output: so the root of the tree
// hears of every node and rank, wherever it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "program/program.hpp"

namespace crosscut::launch {

struct NodeReport {
  enum class Kind : std::uint8_t {
    up,           // the node runs, and starts its ranks
    failed_rank,  // a rank ended in a way it should not; `first_rank` is the rank
    unreachable,  // the node could not be started; the session cannot begin
    lost,         // the node was up, and is gone
  } kind = Kind::up;
  std::string node;
  Rank first_rank = 0;
  Rank count = 1;
  std::string reason;
};

std::string to_line(const NodeReport& report);  // with newline

// nullopt: the line is none (a login shell's greeting, say).
std::optional<NodeReport> parse_node_report(std::string_view line);

// For people: "rank 5 on n003 was killed by ...", "n003 (ranks 8 to 11) cannot be reached: ...".
std::string describe(const NodeReport& report);

}  // namespace crosscut::launch
