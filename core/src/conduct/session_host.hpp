// Base class of conductors: takes requests, signals and the launcher's reports, writes events, and runs the
// server that ranks join.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "conduct/job_queue.hpp"
#include "launch/node_report.hpp"
#include "session/control_server.hpp"
#include "session/messages.hpp"
#include "session/rank.hpp"

namespace crosscut::conduct {

class SessionHost {
 public:
  SessionHost(const session::RankSetup& setup, const session::Address& interface);
  virtual ~SessionHost() = default;
  SessionHost(const SessionHost&) = delete;
  SessionHost& operator=(const SessionHost&) = delete;
  session::Address address() const { return server_.address(); }
  Events& events() { return jobs_.events(); }

  // Announces the address, conducts the session and ends the ranks. Reports errors as events; never throws.
  void run();
  int exit_status() const { return jobs_.exit_status(); }

  // The ranks that have joined, and the facts of their nodes.
  struct Gathered {
    session::Welcome welcome;
    std::vector<json::Value> facts;  // [node]
  };
  // Waits until all ranks have joined. Throws RunError or UsageError if one cannot.
  Gathered gather();
  void receive_input(int fd);

  // Returns why a rank ended, from its own message or the launcher's report; empty if neither has arrived.
  // With `wait`, waits up to 0.2 s for them, since they may arrive after the connection has ended.
  std::string cause(Rank rank, bool wait);
  // True if the launcher reports how ranks end.
  bool has_reports() const { return setup_.reports_fd >= 0; }
  // Called by rank 0's measuring thread with the reason why it cannot continue.
  void rank_zero_failed(const std::string& reason);

 protected:
  virtual void conduct() = 0;
  // Makes the server watch the inputs.
  void watch_inputs();

  const session::RankSetup& setup_;
  JobQueue jobs_;
  session::ControlServer server_;

 private:
  void announce();
  void check_gathering();
  void receive_reports();

  Requests reports_;                        // from the launcher, about ranks that it saw end
  std::vector<launch::NodeReport> losses_;  // as the launcher reported them
  std::optional<Deadline> all_heard_;       // while ranks join: when to report losses_
  std::mutex mutex_;                        // guards rank_zero_reason_
  std::string rank_zero_reason_;
};

// Runs rank 0: the conductor in a thread of its own, and `work` in this one with the conductor's address.
// Returns the exit status.
int conduct_beside(SessionHost& conductor, const std::function<void(const session::Address&)>& work);

}  // namespace crosscut::conduct
