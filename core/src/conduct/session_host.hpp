// The part that all conductors share: the inputs for requests, signals and the launcher's reports, the output
// for events, and the server that ranks join.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "conduct/job_queue.hpp"
#include "launch/node_report.hpp"
#include "session/control_server.hpp"
#include "session/rank.hpp"

namespace crosscut::conduct {

class SessionHost {
 public:
  SessionHost(const session::RankSetup& setup, const session::Address& interface);
  session::Address address() const { return server_.address(); }
  JobQueue& jobs() { return jobs_; }
  const JobQueue& jobs() const { return jobs_; }
  Events& events() { return jobs_.events(); }
  session::ControlServer& server() { return server_; }

  // Announces the conductor's address, calls `conduct`, and records how it ended. `dismiss` sends the ranks
  // home and is always called. Never throws.
  void run(const std::function<void()>& conduct, const std::function<void()>& dismiss);

  double joining_patience() const;
  // Called periodically while ranks gather, when nothing else watches the inputs. Throws if some rank can
  // never join.
  void check_gathering();
  // Has the server watch the inputs from now on.
  void watch_inputs();
  void receive_input(int fd);

  // Returns why a rank ended, from its own message or the launcher's report; empty if neither has arrived.
  std::string cause(Rank rank);
  // Called by rank 0's other thread with the reason why it cannot continue.
  void rank_zero_failed(const std::string& reason);

 private:
  void announce();
  void receive_reports();

  const session::RankSetup& setup_;
  JobQueue jobs_;
  Requests reports_;  // from the launcher, about ranks whose end it saw
  session::ControlServer server_;
  std::vector<launch::NodeReport> losses_;  // as the launcher reported them
  std::optional<Deadline> all_heard_;       // while ranks gather: when to name the lost ones
  std::mutex mutex_;                        // guards rank_zero_reason_
  std::string rank_zero_reason_;
};

// Runs rank 0: the conductor in a thread of its own, and `work` in this one with the conductor's address.
// Returns the exit status.
template <typename AnyConductor, typename Work>
int conduct_beside(AnyConductor& conductor, const Work& work) {
  const session::Address address = conductor.address();
  std::thread conducting([&] { conductor.run(); });
  try {
    work(address);
  } catch (const std::exception& error) {
    conductor.rank_zero_failed(error.what());
  }
  conducting.join();
  return conductor.exit_status();
}

}  // namespace crosscut::conduct
