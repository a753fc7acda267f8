// The part that all conductors share: the inputs for requests, signals and the launcher's reports, the output
// for events, and the server that ranks join.
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

  // Announces the conductor's address, conducts the session, and sends the ranks home. Never throws.
  void run();
  int exit_status() const { return jobs_.exit_status(); }

  // All ranks, once they have joined.
  struct Gathered {
    session::Welcome welcome;
    std::vector<json::Value> facts;  // [node]
  };
  // Throws if some rank can never join.
  Gathered gather();
  void receive_input(int fd);

  // Returns why a rank ended, from its own message or the launcher's report; empty if neither has arrived.
  // With `wait`, gives them a moment: they may be later than the end of a connection.
  std::string cause(Rank rank, bool wait);
  // True if the launcher reports the ends of ranks.
  bool has_reports() const { return setup_.reports_fd >= 0; }
  // Called by rank 0's other thread with the reason why it cannot continue.
  void rank_zero_failed(const std::string& reason);

 protected:
  virtual void conduct() = 0;
  // Has the server watch the inputs from now on.
  void watch_inputs();

  const session::RankSetup& setup_;
  JobQueue jobs_;
  session::ControlServer server_;

 private:
  void announce();
  void check_gathering();
  void receive_reports();

  Requests reports_;                        // from the launcher, about ranks whose end it saw
  std::vector<launch::NodeReport> losses_;  // as the launcher reported them
  std::optional<Deadline> all_heard_;       // while ranks gather: when to name the lost ones
  std::mutex mutex_;                        // guards rank_zero_reason_
  std::string rank_zero_reason_;
};

// Runs rank 0: the conductor in a thread of its own, and `work` in this one with the conductor's address.
// Returns the exit status.
int conduct_beside(SessionHost& conductor, const std::function<void(const session::Address&)>& work);

}  // namespace crosscut::conduct
