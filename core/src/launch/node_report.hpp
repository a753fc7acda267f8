// A node's reports to its parent: lines of JSON on standard output, passed up to the root of the tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "program/program.hpp"

namespace crosscut::launch {

struct NodeReport {
  enum class Kind : std::uint8_t {
    up,           // the node runs and starts its ranks
    failed_rank,  // rank `first_rank` ended abnormally
    unreachable,  // the node could not be started; the session cannot begin
    lost,         // the node was up and is gone
  } kind = Kind::up;
  std::string node;
  Rank first_rank = 0;
  Rank count = 1;
  std::string reason;
};

std::string to_line(const NodeReport& report);  // with newline

// Parses a report. Returns nullopt if the line is not a report (a login shell's greeting, say).
std::optional<NodeReport> parse_node_report(std::string_view line);

// Describes a report to people: "rank 5 on n003 was killed by ...", "n003 (ranks 8 to 11) could not be
// started: ...".
std::string describe(const NodeReport& report);

}  // namespace crosscut::launch
