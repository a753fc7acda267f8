// The first line of a session: which ranks this node starts, how they meet, and which further nodes are
// started from here (docs/reference/session-protocol.md).
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

// Nodes still to be started, through `command` (ssh and its options).
struct Tree {
  std::vector<std::string> command;
  std::string core;  // path of crosscut-core on the other nodes
  int fanout = 16;
  std::vector<TreeHost> hosts;
};

struct SessionConfig {
  Rank ranks = 1;       // 0: as many as `network` has room for
  Rank first_rank = 0;  // of this node
  Rank count = 1;       // ranks of this node
  std::string host;     // this node's name as the launcher knows it; empty: gethostname
  std::string secret;   // 64 hex digits
  std::string backend = "tcp";
  // Numeric address, interface name, "auto", or a subnet ("10.1.0.0/16"): see resolve_interface.
  std::string interface = "127.0.0.1";
  std::string towards;    // "auto" without conductor: a host that the address must reach
  std::string conductor;  // "address:port" of rank 0
  std::string place = "local";
  double timeout_seconds = 30;
  bool pin = true;
  std::vector<int> pin_cores;          // in place of all allowed ones
  std::optional<bool> oversubscribed;  // in place of comparing `count` with the cores
  // Started by a parallel launcher with the same line for every node: ranks by node, and which launcher's
  // environment says which node this is ("slurm").
  std::vector<Rank> layout;
  std::string launcher;
  // Of sessions that are simulated: a file or a name of the catalogue, empty: a crossbar; 0: as it says.
  std::string network;
  int ranks_per_host = 0;
  bool reports = false;  // whoever started this node reads what becomes of it (see spawn_tree.hpp)
  std::optional<Tree> tree;

  bool has_conductor() const { return first_rank == 0; }  // rank 0 is on this node
};

inline constexpr std::size_t configuration_bytes_max = std::size_t{8} << 20;  // 10^5 hosts of 80 bytes

// Throw UsageError naming the member. Unknown members are errors.
SessionConfig parse_session(std::string_view line);
json::Value to_json(const SessionConfig& config);

// With a layout: finds this node's ranks from the launcher's environment.
void apply_layout(SessionConfig& config);

// One line without its newline, and not a byte more, so that whoever inherits `fd` reads on behind it.
// nullopt: end of file before any byte. Throws UsageError: too long, no newline before `deadline`.
std::optional<std::string> read_line(int fd, std::size_t bytes_max, Deadline deadline);

// The line that tells a node on which rank 0 is not where rank 0 is: {"conductor": "10.0.0.1:40123"}.
std::string parse_conductor_line(std::string_view line);

// secret.cpp. 64 hex digits, or UsageError that does not repeat them.
std::string checked_secret(const std::string& hex);
// From the environment (CROSSCUT_SECRET), for launchers without standard input; removes it there.
std::string secret_from_environment();
std::string random_secret();
std::string bytes_of_secret(std::string_view hex);

}  // namespace crosscut::session
