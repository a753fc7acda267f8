#include "conductor.hpp"

#include <unistd.h>

#include <algorithm>

namespace crosscut {
namespace {

// Joining takes longer than an answer: ssh trees, a loaded machine starting hundreds of ranks.
// A rank that finds no way here gives up after the time-out, a little after it was started: where a launcher
// passes on what it saw, that is waited for.
double joining_patience(const RankSetup& setup) {
  return setup.timeout_seconds + 0.05 * setup.ranks + (setup.reports_fd >= 0 ? 5 : 0);
}

// What keeps one rank from joining keeps others too, at about the same time.
constexpr double other_losses_seconds = 0.5;
constexpr std::size_t most_named = 4;

std::string could_not_join(const std::vector<NodeReport>& losses) {
  if (losses.size() == 1) return describe(losses.front());
  std::string text = std::to_string(losses.size()) + " ranks could not join:";
  for (std::size_t i = 0; i < std::min(losses.size(), most_named); ++i) text += "\n  " + describe(losses[i]);
  if (losses.size() > most_named) text += "\n  and " + std::to_string(losses.size() - most_named) + " more";
  return text;
}

}  // namespace

Conductor::Conductor(const RankSetup& setup, const Address& interface)
    : setup_(setup),
      desk_(setup.requests_fd, setup.events_fd, setup.place),
      reports_(setup.reports_fd),
      server_(interface, setup.secret, setup.ranks, setup.timeout_seconds),
      ranks_(server_, {.input = [this](int fd) { hear_input(fd); },
                       .lost =
                           [this](const LostRank& one) {
                             desk_.events().say(json::Object{{"event", "failed-rank"},
                                                             {"rank", one.rank},
                                                             {"node", one.node},
                                                             {"reason", one.reason}});
                           },
                       .warn = [this](const std::string& message) { desk_.events().warn(message); },
                       .cause = [this](Rank rank) { return cause(rank); },
                       .launcher_reports = setup.reports_fd >= 0}) {}

void Conductor::announce() {
  const auto line = address().text() + "\n";
  if (setup_.address_fd >= 0 && ::write(setup_.address_fd, line.data(), line.size()) < 0) {
    throw_errno("telling the launcher where rank 0 is");
  }
  if (setup_.local_ranks < setup_.ranks) {
    desk_.events().say(json::Object{{"event", "listening"}, {"address", address().text()}});
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
  hear_launcher();
  const auto known = std::ranges::find(losses_, rank, &NodeReport::first_rank);
  return known == losses_.end() ? "" : known->reason;
}

void Conductor::hear_launcher() {
  if (setup_.reports_fd < 0) return;
  reports_.read();
  while (!reports_.empty()) {
    auto report = parse_node_report(reports_.take());
    if (report && report->kind != NodeReport::Kind::up) losses_.push_back(std::move(*report));
  }
}

// Now and then while ranks gather; throws where they never will.
void Conductor::check_gathering() {
  desk_.hear_signals();
  if (desk_.interrupted()) throw RunError("interrupted before all ranks had joined");
  hear_launcher();
  if (losses_.empty()) return;
  if (!all_heard_) all_heard_ = after_seconds(other_losses_seconds);
  if (milliseconds_left(*all_heard_) == 0) throw RunError(could_not_join(losses_));
}

void Conductor::hear_input(int fd) {
  if (fd == desk_.signals_fd()) return desk_.hear_signals();
  if (fd == setup_.reports_fd) {
    reports_.read();
    if (reports_.ended()) server_.unwatch(fd);
    return;
  }
  if (!desk_.hear_requests()) server_.unwatch(fd);
}

void Conductor::run() {
  try {
    announce();
    // While ranks gather, inputs are looked at here; afterwards the server watches them.
    ranks_.assemble(joining_patience(setup_), [this] { check_gathering(); });
    desk_.events().say(ranks_.ready_event());
    serve();
  } catch (const UsageError& error) {
    desk_.events().error(error.what(), true);
    desk_.note_status(2);
  } catch (const std::exception& error) {
    desk_.events().error(error.what(), false);
    desk_.note_status(desk_.interrupted() ? 130 : 1);
  }
  ranks_.dismiss();
  if (desk_.interrupted()) desk_.note_status(130);
  desk_.events().say(json::Object{{"event", "ended"}});
}

void Conductor::serve() {
  server_.watch(desk_.signals_fd());
  server_.watch(desk_.requests_fd());
  if (setup_.reports_fd >= 0) server_.watch(setup_.reports_fd);
  desk_.hear_requests();
  while (!desk_.over()) {
    if (!desk_.do_next(ranks_)) ranks_.idle(3600);
  }
}

}  // namespace crosscut
