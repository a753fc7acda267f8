// Starts `crosscut-core node` on further hosts through ssh (or another command) as a tree. Each node splits
// its hosts into at most `fanout` parts and starts the head of each; a head starts the rest of its part.
//
// The pipe to a head's standard input is its lifeline. When the pipe closes, however this process ends, the
// head ends its ranks and its own heads. Their standard error is passed on, prefixed with the host's name.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/line_buffer.hpp"
#include "launch/node_report.hpp"
#include "session/session_config.hpp"

namespace crosscut::launch {

// Splits hosts into at most `fanout` contiguous parts of nearly equal size.
std::vector<std::vector<session::TreeHost>> split_hosts(const std::vector<session::TreeHost>& hosts,
                                                        int fanout);

class SpawnTree {
 public:
  // `config` is this node's, with `conductor` set; `tree` has the hosts to start. `report` receives every
  // report on the nodes behind this one.
  SpawnTree(session::SessionConfig config, session::Tree tree, std::function<void(const NodeReport&)> report);
  ~SpawnTree();
  SpawnTree(const SpawnTree&) = delete;
  SpawnTree& operator=(const SpawnTree&) = delete;

  void start();
  void add_to(std::vector<pollfd>& polled) const;
  void serve();                             // after poll: moves available bytes, kills overdue branches
  void reaped(pid_t pid, int wait_status);  // does nothing unless it is a child of this tree
  void close();                             // closes the lifelines, so that the nodes behind end
  void kill();                              // kills all branches at once
  bool empty() const { return branches_.empty(); }
  std::optional<Deadline> next_deadline() const;

 private:
  struct Branch {
    std::vector<session::TreeHost> part;  // its head, then the hosts that the head starts
    pid_t pid = 0;
    Fd input, output, errors;
    std::string unsent;  // rest of the configuration line
    LineBuffer output_lines, error_lines;
    std::string last_error;
    bool up = false;
    bool timed_out = false;
    Deadline start_deadline;
  };

  void start_parts(const std::vector<session::TreeHost>& hosts);
  void start_branch(std::vector<session::TreeHost> part);
  std::string first_line(const std::vector<session::TreeHost>& part) const;
  void send(Branch& branch) const;
  void receive(Branch& branch);
  void judge(const Branch& branch, int wait_status);
  void report_part(const Branch& branch, const std::string& reason);

  session::SessionConfig config_;
  session::Tree tree_;
  std::function<void(const NodeReport&)> report_;
  std::list<Branch> branches_;
  bool closed_ = false;
};

}  // namespace crosscut::launch
