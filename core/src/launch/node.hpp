// The parent process of a node's ranks: one loop over their ends, signals, and the nodes behind this one.
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/line_buffer.hpp"
#include "launch/last_words.hpp"
#include "launch/launch.hpp"
#include "launch/node_report.hpp"
#include "launch/spawn_tree.hpp"

namespace crosscut::launch {

class Node {
 public:
  Node(const session::SessionConfig& config, const LaunchStreams& streams, const RankBody& body);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  int run();

 private:
  struct Child {
    Rank rank;
    LastWords last_words;
  };

  // Starting.
  session::RankSetup setup_of(Rank rank) const;
  void start_rank(const session::RankSetup& setup);
  void start_rank_0();
  void start_others();
  void read_address();

  // One turn of the loop.
  std::vector<pollfd> polled() const;
  std::optional<Deadline> next_deadline() const;
  void read_signals();
  void take_signal(int number, bool from_terminal);
  void reap();
  void rank_ended(Rank rank, int wait_status, const std::string& last_words);
  void rank_halted(Rank rank, bool is_halted);
  void read_lifeline();
  void check_deadlines();

  // Fate of nodes and ranks (node_reports.cpp).
  void take_report(const NodeReport& report);
  void take_report_at_root(const NodeReport& report);
  void tell_rank_0(const NodeReport& report);
  void check_start_up();
  void tell_unreachable();
  void say(const std::string& text) const;

  // Ending.
  void end_ranks_within(double seconds);
  void end_tree();
  void kill_ranks();

  session::SessionConfig config_;
  LaunchStreams streams_;
  const RankBody& body_;
  bool is_root_;
  std::string interface_;
  std::vector<int> cores_;  // of each local rank; empty: not pinned
  bool oversubscribed_ = false;
  sigset_t outer_signals_{};
  Fd signals_;
  Fd address_, reports_;  // pipes of rank 0: its address is read, reports to it are written
  LineBuffer address_lines_;
  std::map<pid_t, Child> ranks_;
  std::unique_ptr<SpawnTree> tree_;
  std::optional<Deadline> address_deadline_, start_deadline_, ranks_deadline_, tree_deadline_, halt_deadline_;
  Rank ranks_up_ = 0;                    // root: ranks on nodes that are up
  std::vector<NodeReport> unreachable_;  // root: found while starting
  Rank ranks_unreachable_ = 0;
  int signals_taken_ = 0;
  bool is_ending_ = false;  // true: ranks are expected to end
  bool failed_ = false;     // true: a rank other than 0, or a node, failed
  int status_ = 0;          // rank 0's, once it has ended
};

}  // namespace crosscut::launch
