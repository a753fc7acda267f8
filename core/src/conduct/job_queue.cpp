#include "conduct/job_queue.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/error.hpp"
#include "conduct/job_run.hpp"

namespace crosscut::conduct {
namespace {

Fd watch_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw_errno("watch for signals");
  return fd;
}

}  // namespace

JobQueue::JobQueue(int requests_fd, int events_fd, std::string place)
    : events_(events_fd), requests_(requests_fd), signals_(watch_signals()), place_(std::move(place)) {}

bool JobQueue::receive_requests() {
  requests_.read();
  return !requests_.ended();
}

void JobQueue::receive_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (++interrupts_ > 1) throw RunError("interrupted twice");
  }
}

bool JobQueue::over() const {
  return end_ || interrupts_ > 0 || events_.broken() || (requests_.empty() && requests_.ended());
}

bool JobQueue::stop_asked() {
  receive_signals();
  receive_requests();
  return requests_.take_stop() || requests_.ended() || interrupts_ > 0 || events_.broken();
}

bool JobQueue::do_next(session::RankGroup& group) try {
  if (requests_.empty()) return false;
  const auto request = json::parse(requests_.take());
  // Slurm copies standard input to every node; this line is meant for the nodes without rank 0.
  if (request.find("do") == nullptr && request.find("conductor") != nullptr) return true;
  const auto& word = request.at("do").string();
  if (word == "end") {
    end_ = true;
  } else if (word == "run") {
    run_job(request.at("job"), group);
  } else if (word != "stop") {  // no job is running, so there is nothing to stop
    throw UsageError("unknown request '" + word.substr(0, 40) + "'; the requests are run, stop and end");
  }
  return true;
} catch (const UsageError& error) {
  events_.error(error.what(), true);
  note_status(2);
  return true;
}

void JobQueue::run_job(const json::Value& value, session::RankGroup& group) {
  try {
    JobRun job(
        parse_job(value), group, events_, [this] { return stop_asked(); }, place_);
    job.run();
    if (!group.lost().empty() || !job.all_bytes_right()) note_status(1);
  } catch (const UsageError&) {
    group.reset();
    throw;
  } catch (const RunError& error) {
    // After losing a rank, this session can measure nothing more.
    if (!group.lost().empty() || interrupts_ > 1) throw;
    events_.error(error.what(), false);
    note_status(interrupts_ > 0 ? 130 : 1);
    group.reset();
  }
}

}  // namespace crosscut::conduct
