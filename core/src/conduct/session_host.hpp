// What every conductor has, whatever its ranks do: where requests, signals and the launcher's word come in,
// where events go out, and the server that ranks join.
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

  // Says where ranks find the conductor, conducts, and says how it ended; `dismiss` sends the ranks home,
  // whatever has happened before. Never throws.
  void run(const std::function<void()>& conduct, const std::function<void()>& dismiss);

  double joining_patience() const;
  // Now and then while ranks gather, when nobody watches inputs; throws where they never will all be here.
  void check_gathering();
  // From now on the server watches inputs.
  void watch_inputs();
  void receive_input(int fd);

  // Why a rank ended, as it said itself or the launcher saw; empty: nobody has told yet.
  std::string cause(Rank rank);
  // From rank 0's other thread: why it cannot go on.
  void rank_zero_failed(const std::string& reason);

 private:
  void announce();
  void receive_reports();

  const session::RankSetup& setup_;
  JobQueue jobs_;
  Requests reports_;  // of the launcher, about ranks whose end it saw
  session::ControlServer server_;
  std::vector<launch::NodeReport> losses_;  // as the launcher saw them
  std::optional<Deadline> all_heard_;       // while ranks gather: when those that are lost are named
  std::mutex mutex_;                        // guards rank_zero_reason_
  std::string rank_zero_reason_;
};

// Rank 0: a conductor in a thread of its own beside the rank's work, which is given the conductor's address.
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
