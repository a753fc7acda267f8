// The first line of a session: the ranks that this node starts, how they find each other, and the further
// nodes started from here (docs/reference/session-protocol.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "program/program.hpp"
#include "session/socket.hpp"

namespace crosscut::session {

struct TreeHost {
  std::string host;
  Rank first_rank = 0;
  Rank count = 1;
};

// Nodes to start through `command` (ssh and its options).
struct Tree {
  std::vector<std::string> command;
  std::string core;  // path of crosscut-core on the other nodes
  int fanout = 16;
  std::vector<TreeHost> hosts;
};

struct SessionConfig {
  Rank ranks = 1;       // 0: as many as fit on `network`
  Rank first_rank = 0;  // of this node
  Rank count = 1;       // ranks of this node
  std::string host;     // this node's name as the launcher knows it; empty: gethostname
  std::string secret;   // 64 hex digits
  std::string backend = "tcp";
  // Numeric address, interface name, "auto", or a subnet ("10.1.0.0/16"): see resolve_interface.
  std::string interface = "127.0.0.1";
  std::string control_interface;  // for barriers and the conductor, likewise; empty: `interface`
  std::string towards;            // for "auto" without `conductor`: a host that the address must reach
  std::string conductor;          // "address:port" of rank 0
  std::string place = "local";
  double timeout_seconds = 30;
  bool pin = true;
  std::vector<int> pin_cores;          // cores to pin ranks to; empty: all allowed cores
  std::optional<bool> oversubscribed;  // if set, overrides the comparison of `count` with the cores
  // For a parallel launcher that gives every node the same line: the number of ranks on each node, and the
  // launcher ("slurm") whose environment variables identify this node.
  std::vector<Rank> layout;
  std::string launcher;
  // Simulated sessions only: a file or a catalogue name; empty: a crossbar.
  std::string network;
  int ranks_per_host = 0;
  bool reports = false;  // the process that started this node reads reports (see spawn_tree.hpp)
  std::optional<Tree> tree;

  bool has_conductor() const { return first_rank == 0; }  // rank 0 is on this node
};

inline constexpr std::size_t configuration_bytes_max = std::size_t{8} << 20;  // 10^5 hosts of 80 bytes

// Parses and checks the first line. Throws UsageError naming the invalid or unknown member.
SessionConfig parse_session(std::string_view line);
json::Value to_json(const SessionConfig& config);

// If there is a layout, sets `first_rank`, `count` and `host` from the launcher's environment. Throws
// UsageError.
void apply_layout(SessionConfig& config);

// Reads one line and returns it without its newline. Reads no byte beyond the newline, so that a process that
// inherits `fd` can continue there. Returns nullopt if the file ends before any byte. Throws UsageError if
// the line is longer than `bytes_max` or incomplete at `deadline` or at the end of the file; the message
// names `content`, what the launcher should send.
std::optional<std::string> read_line(int fd, std::size_t bytes_max, Deadline deadline,
                                     std::string_view content = "the session's configuration");

// Parses the line that gives rank 0's address to other nodes, {"conductor": "10.0.0.1:40123"}, and returns
// the address. Throws UsageError.
std::string parse_conductor_line(std::string_view line);

// Returns `hex` if it is a secret of 64 hex digits; otherwise throws UsageError without revealing it.
std::string checked_secret(const std::string& hex);
// Returns the secret in CROSSCUT_SECRET and erases it from the environment; empty if not set. For launchers
// that forward no standard input.
std::string secret_from_environment();
std::string random_secret();
std::string bytes_of_secret(std::string_view hex);

}  // namespace crosscut::session
