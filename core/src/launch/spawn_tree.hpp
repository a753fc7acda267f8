// Starts `crosscut-core node` on further hosts through ssh (or whatever reaches them), as a tree: each node
// starts the heads of at most `fanout` parts of its hosts, and each head the rest of its part.
//
// The pipe to a head's standard input is its life-line: when it closes, however this process ends, the head
// ends its ranks and its own heads. What heads write on standard error is passed on, with the host's name.
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
#include "session/socket.hpp"

namespace crosscut::launch {

// Contiguous parts of nearly equal size, at most `fanout`.
std::vector<std::vector<session::TreeHost>> split_hosts(const std::vector<session::TreeHost>& hosts,
                                                        int fanout);

class SpawnTree {
 public:
  // `config` is this node's, with conductor; its tree is what is started. `report` hears of every node
  // behind this one.
  SpawnTree(session::SessionConfig config, std::function<void(const NodeReport&)> report);
  ~SpawnTree();
  SpawnTree(const SpawnTree&) = delete;
  SpawnTree& operator=(const SpawnTree&) = delete;

  void start();
  void add_to(std::vector<pollfd>& polled) const;
  void serve();                             // after poll: moves what can be moved, ends what is overdue
  bool reaped(pid_t pid, int wait_status);  // false: not one of these
  void close();                             // closes the life-lines: the nodes behind end
  void kill();                              // at once, without waiting for them
  bool empty() const { return branches_.empty(); }
  std::optional<Deadline> next_deadline() const;

 private:
  struct Branch {
    std::vector<session::TreeHost> part;  // its head, then the hosts that the head starts
    pid_t pid = 0;
    Fd input, output, errors;
    std::string unsent;  // of the first line
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
  std::function<void(const NodeReport&)> report_;
  std::list<Branch> branches_;
  bool closed_ = false;
};

}  // namespace crosscut::launch
