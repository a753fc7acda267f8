#include "conductor.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "job_run.hpp"
#include "node_report.hpp"

namespace crosscut {
namespace {

// Blocks the signals in this thread and all it starts, so that they arrive on the descriptor.
Fd watch_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw_errno("watching for signals");
  return fd;
}

// Joining takes longer than an answer: ssh trees, a loaded machine starting hundreds of ranks.
double joining_patience(const RankSetup& setup) { return setup.timeout_seconds + 0.05 * setup.ranks; }

}  // namespace

Conductor::Conductor(const RankSetup& setup, const Address& interface)
    : setup_(setup),
      events_(setup.events_fd),
      requests_(setup.requests_fd),
      reports_(setup.reports_fd),
      signals_(watch_signals()),
      server_(interface, setup.secret, setup.ranks, setup.timeout_seconds),
      ranks_(server_, {.input = [this](int fd) { hear_input(fd); },
                       .lost =
                           [this](const LostRank& one) {
                             events_.say(json::Object{{"event", "failed-rank"},
                                                      {"rank", one.rank},
                                                      {"node", one.node},
                                                      {"reason", one.reason}});
                           },
                       .warn = [this](const std::string& message) { events_.warn(message); },
                       .cause = [this](Rank rank) { return cause(rank); },
                       .launcher_reports = setup.reports_fd >= 0}) {}

void Conductor::announce() {
  const auto line = address().text() + "\n";
  if (setup_.address_fd >= 0 && ::write(setup_.address_fd, line.data(), line.size()) < 0) {
    throw_errno("telling the launcher where rank 0 is");
  }
  if (setup_.local_ranks < setup_.ranks) {
    events_.say(json::Object{{"event", "listening"}, {"address", address().text()}});
  }
}

void Conductor::rank_zero_failed(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  rank_zero_reason_ = reason;
}

std::string Conductor::cause(Rank rank) {
  if (rank == 0) {
    const std::lock_guard lock(mutex_);
    if (!rank_zero_reason_.empty()) return rank_zero_reason_;
  }
  if (setup_.reports_fd >= 0) {
    reports_.read();
    while (!reports_.empty()) {
      const auto report = parse_node_report(reports_.take());
      if (report) causes_.emplace_back(report->first_rank, report->reason);
    }
  }
  const auto known =
      std::find_if(causes_.begin(), causes_.end(), [&](const auto& one) { return one.first == rank; });
  return known == causes_.end() ? "" : known->second;
}

void Conductor::hear_input(int fd) {
  if (fd == signals_.get()) {
    signalfd_siginfo info{};
    if (::read(fd, &info, sizeof info) == sizeof info && ++interrupts_ > 1)
      throw RunError("interrupted twice");
    return;
  }
  if (fd == setup_.reports_fd) {
    reports_.read();
    if (reports_.ended()) server_.unwatch(fd);
    return;
  }
  requests_.read();
  if (requests_.ended()) server_.unwatch(fd);
}

bool Conductor::stop_asked() {
  return requests_.take_stop() || requests_.ended() || interrupts_ > 0 || events_.broken();
}

void Conductor::run() {
  try {
    announce();
    // While ranks gather, inputs are looked at here; afterwards the server watches them.
    ranks_.assemble(joining_patience(setup_), [this] {
      for (const int fd : {signals_.get()}) {
        signalfd_siginfo info{};
        if (::read(fd, &info, sizeof info) == sizeof info)
          throw RunError("interrupted before all ranks had joined");
      }
      if (setup_.reports_fd < 0) return;
      reports_.read();
      if (reports_.empty()) return;
      const auto report = parse_node_report(reports_.take());
      if (report && report->kind != NodeReport::Kind::up) throw RunError(describe(*report));
    });
    events_.say(ranks_.ready_event());
    serve();
  } catch (const UsageError& error) {
    events_.error(error.what(), true);
    note_status(2);
  } catch (const std::exception& error) {
    events_.error(error.what(), false);
    note_status(interrupts_ > 0 ? 130 : 1);
  }
  ranks_.dismiss();
  if (interrupts_ > 0) note_status(130);
  events_.say(json::Object{{"event", "ended"}});
}

void Conductor::serve() {
  server_.watch(signals_.get());
  server_.watch(requests_.fd());
  if (setup_.reports_fd >= 0) server_.watch(setup_.reports_fd);
  requests_.read();
  while (!end_ && interrupts_ == 0 && !events_.broken()) {
    if (!requests_.empty()) {
      do_request(requests_.take());
    } else if (requests_.ended()) {
      return;
    } else {
      ranks_.idle(3600);
    }
  }
}

void Conductor::do_request(const std::string& line) {
  try {
    const auto request = json::parse(line);
    // Slurm copies our input to every node; this line is for those on which rank 0 is not.
    if (request.find("do") == nullptr && request.find("conductor") != nullptr) return;
    const auto& word = request.at("do").string();
    if (word == "end") {
      end_ = true;
    } else if (word == "run") {
      run_job(request.at("job"));
    } else if (word != "stop") {  // nothing is in work: nothing to stop
      throw UsageError("unknown request '" + word.substr(0, 40) + "'; known are run, stop, end");
    }
  } catch (const UsageError& error) {
    events_.error(error.what(), true);
    note_status(2);
  }
}

void Conductor::run_job(const json::Value& value) {
  try {
    JobRun job(
        parse_job(value), ranks_, events_, [this] { return stop_asked(); }, setup_.place);
    job.run();
    if (!ranks_.lost().empty() || !job.all_bytes_right()) note_status(1);
  } catch (const UsageError&) {
    ranks_.reset();
    throw;
  } catch (const RunError& error) {
    // With a rank gone for good nothing further can be measured with this session.
    if (!ranks_.lost().empty() || interrupts_ > 1) throw;
    events_.error(error.what(), false);
    note_status(1);
    ranks_.reset();
  }
}

}  // namespace crosscut
