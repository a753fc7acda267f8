// Handles reports on nodes and ranks: passes them up the tree; at the root, tells rank 0 and the user.
#include <unistd.h>

#include <string>

#include "base/fd.hpp"
#include "base/json.hpp"
#include "launch/node.hpp"

namespace crosscut::launch {

void Node::say(const std::string& text) const { write_once(STDERR_FILENO, "crosscut-core: " + text + "\n"); }

void Node::take_report(const NodeReport& report) {
  if (is_root_) return take_report_at_root(report);
  if (report.kind != NodeReport::Kind::up) failed_ = true;
  if (config_.reports)
    write_once(streams_.events_fd, to_line(report));
  else if (report.kind != NodeReport::Kind::up)
    say(describe(report));
}

void Node::take_report_at_root(const NodeReport& report) {
  using enum NodeReport::Kind;
  if (report.kind == up) {
    ranks_up_ += report.count;
  } else if (report.kind == unreachable) {
    unreachable_.push_back(report);
    ranks_unreachable_ += report.count;
    // The session cannot begin. Wait for the rest of the tree, so that all such hosts are named at once.
    if (!start_deadline_) start_deadline_ = after_seconds(config_.timeout_seconds);
  } else {
    failed_ = true;
    // A rank that exits has reported the reason itself; after a signal or the loss of a node nobody else
    // does.
    if (report.kind == lost || report.reason.starts_with("was killed")) say(describe(report));
    tell_rank_0(report);
  }
  check_start_up();
}

void Node::tell_rank_0(const NodeReport& report) {
  for (Rank rank = report.first_rank; reports_ && rank < report.first_rank + report.count; ++rank)
    write_once(reports_.get(), to_line({NodeReport::Kind::failed_rank, report.node, rank, 1, report.reason}));
}

void Node::check_start_up() {
  if (unreachable_.empty() || ranks_up_ + ranks_unreachable_ < config_.ranks) return;
  start_deadline_.reset();
  kill_ranks();  // rank 0's end then reports why (tell_unreachable)
}

// Called after rank 0 has ended: its stream is free, and it cannot have started a job.
void Node::tell_unreachable() {
  std::string text = std::to_string(unreachable_.size()) + " of the hosts could not be started:";
  if (unreachable_.size() == 1) text = "a host could not be started:";
  for (const NodeReport& report : unreachable_) {
    text += (&report == unreachable_.data() ? " " : "; ") + report.node + ": " + report.reason;
    say(describe(report));
  }
  const json::Value error = json::Object{{"event", "error"}, {"message", text}, {"kind", "run"}};
  write_once(streams_.events_fd, json::write(error) + "\n" + "{\"event\": \"ended\"}\n");
}

}  // namespace crosscut::launch
