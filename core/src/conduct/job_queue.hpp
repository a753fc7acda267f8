// Where a session's requests are taken and its jobs run one after another, whoever the ranks are: requests on
// one descriptor, interrupts as signals, events on another.
#pragma once

#include <atomic>
#include <string>

#include "base/fd.hpp"
#include "conduct/events.hpp"
#include "conduct/requests.hpp"
#include "session/rank_group.hpp"

namespace crosscut::conduct {

class JobQueue {
 public:
  // Blocks SIGINT and SIGTERM in this thread and all it starts from now on: they arrive on signals_fd().
  JobQueue(int requests_fd, int events_fd, std::string place);

  Events& events() { return events_; }
  int requests_fd() const { return requests_.fd(); }
  int signals_fd() const { return signals_.get(); }

  // Reads what is there, without waiting. False: the input has ended.
  bool receive_requests();
  // The same for signals. Throws RunError at the second one.
  void receive_signals();
  bool interrupted() const { return interrupts_ > 0; }

  // Nothing further is to be done.
  bool over() const;
  // Does the request that has waited longest; false: none waits. Throws RunError when the session cannot go
  // on.
  bool do_next(session::RankGroup& group);
  // For who does requests of another kind: the one that has waited longest; empty: none waits.
  std::string take_request() { return requests_.empty() ? std::string() : requests_.take(); }
  // Reads what is there; true: what is in work is to end.
  bool stop_asked();

  // The first that is not 0 counts. Asked for by other threads, too.
  void note_status(int status) { exit_status_ = exit_status_ == 0 ? status : exit_status_.load(); }
  int exit_status() const { return exit_status_; }

 private:
  void do_request(const std::string& line, session::RankGroup& group);
  void run_job(const json::Value& job, session::RankGroup& group);

  Events events_;
  Requests requests_;
  Fd signals_;
  std::string place_;
  int interrupts_ = 0;
  bool end_ = false;
  std::atomic<int> exit_status_ = 0;
};

}  // namespace crosscut::conduct
