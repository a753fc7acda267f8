// Takes a session's requests and runs its jobs one after another, on any kind of ranks. Requests arrive on
// one descriptor and interrupts as signals; events go to another descriptor.
#pragma once

#include <atomic>
#include <string>

#include "base/fd.hpp"
#include "conduct/session_lines.hpp"
#include "session/rank_group.hpp"

namespace crosscut::conduct {

class JobQueue {
 public:
  // Blocks SIGINT and SIGTERM in this thread and in all threads that it starts later; signals_fd() receives
  // them.
  JobQueue(int requests_fd, int events_fd, std::string place);

  Events& events() { return events_; }
  int requests_fd() const { return requests_.fd(); }
  int signals_fd() const { return signals_.get(); }

  // Reads the available requests without waiting. Returns false at the end of the input.
  bool receive_requests();
  // Reads the pending signals without waiting. Throws RunError at the session's second signal.
  void receive_signals();
  bool interrupted() const { return interrupts_ > 0; }

  // True if there is nothing left to do.
  bool over() const;
  // Carries out the oldest waiting request; returns false if there is none. Throws RunError if the session
  // cannot continue.
  bool do_next(session::RankGroup& group);
  // Removes and returns the oldest waiting request, or an empty string if there is none. For callers that
  // handle other kinds of requests.
  std::string take_request() { return requests_.empty() ? std::string() : requests_.take(); }
  // Reads waiting requests and signals. Returns true if the job in progress must stop.
  bool stop_asked();

  // Records an exit status; the first one other than 0 is kept. Other threads may read it.
  void note_status(int status) { exit_status_ = exit_status_ == 0 ? status : exit_status_.load(); }
  int exit_status() const { return exit_status_; }

 private:
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
