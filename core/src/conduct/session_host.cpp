#include "conduct/session_host.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/error.hpp"

namespace crosscut::conduct {
namespace {

// Time to collect further reports: one cause often keeps several ranks from joining at about the same time.
constexpr double other_losses_seconds = 0.5;
constexpr std::size_t most_named = 4;
constexpr int cause_tries = 20;

// The cores of a node's ranks, in the order in which these joined.
struct CoresOfRanks {
  std::vector<std::int32_t> bound_to;  // -1: to none
  std::int64_t far_ranks = 0;

  void tell(json::Value& facts) const {
    if (!facts.is_object()) return;
    if (far_ranks > 0) facts.object().emplace_back("far_ranks", far_ranks);
    if (std::ranges::all_of(bound_to, [](int core) { return core < 0; })) return;
    json::Array cores;
    for (const int core : bound_to) {
      cores.emplace_back();
      if (core >= 0) cores.back() = std::int64_t{core};
    }
    facts.object().emplace_back("rank_cores", std::move(cores));
  }
};

std::string could_not_join(const std::vector<launch::NodeReport>& losses) {
  if (losses.size() == 1) return launch::describe(losses.front());
  std::string text = std::to_string(losses.size()) + " ranks could not join:";
  for (std::size_t i = 0; i < std::min(losses.size(), most_named); ++i)
    text += "\n  " + launch::describe(losses[i]);
  if (losses.size() > most_named) text += "\n  and " + std::to_string(losses.size() - most_named) + " more";
  return text;
}

}  // namespace

SessionHost::SessionHost(const session::RankSetup& setup, const session::Address& interface)
    : setup_(setup),
      jobs_(setup.requests_fd, setup.events_fd, setup.place),
      server_(interface, setup.secret, setup.ranks, setup.timeout_seconds),
      reports_(setup.reports_fd) {}

void SessionHost::run() {
  try {
    announce();
    conduct();
  } catch (const UsageError& error) {
    events().error(error.what(), true);
    jobs_.note_status(2);
  } catch (const std::exception& error) {
    events().error(error.what(), false);
    jobs_.note_status(jobs_.interrupted() ? 130 : 1);
  }
  server_.broadcast(session::FrameType::end, {});
  if (jobs_.interrupted()) jobs_.note_status(130);
  events().ended();
}

void SessionHost::announce() {
  const auto line = address().text() + "\n";
  if (setup_.address_fd >= 0 && ::write(setup_.address_fd, line.data(), line.size()) < 0)
    throw_errno("tell the launcher the address of rank 0");
  if (setup_.local_ranks < setup_.ranks)
    events().say(json::Object{{"event", "listening"}, {"address", address().text()}});
}

SessionHost::Gathered SessionHost::gather() {
  // Allow more than the time-out: an ssh tree takes longer, as does a loaded machine that starts hundreds of
  // ranks. A rank that cannot reach this node gives up shortly after the time-out; if the launcher reports
  // such ranks, wait for its report too.
  const double patience = setup_.timeout_seconds + 0.05 * setup_.ranks + (has_reports() ? 5 : 0);
  const auto frames = server_.await_all(patience, [this] { check_gathering(); });
  Gathered all;
  std::vector<std::vector<std::string>> listeners;  // [rail][rank]
  std::map<std::string, std::int32_t> known;
  std::vector<CoresOfRanks> cores;  // [node]
  for (const auto& frame : frames) {
    const auto joined = session::unpack<session::Joined>(frame.payload);
    const auto [node, is_new] = known.emplace(joined.node, static_cast<std::int32_t>(known.size()));
    if (is_new) all.facts.emplace_back();
    const auto at = static_cast<std::size_t>(node->second);
    cores.resize(known.size());
    cores[at].bound_to.push_back(joined.core);
    cores[at].far_ranks += joined.far ? 1 : 0;
    auto& facts = all.facts[at];
    if (facts.is_null() && !joined.facts.empty()) facts = json::parse(joined.facts);
    all.welcome.node.push_back(node->second);
    if (!listeners.empty() && listeners.size() != joined.listeners.size())
      throw UsageError("ranks have different numbers of interfaces; give the same number on every node");
    listeners.resize(joined.listeners.size());
    for (std::size_t rail = 0; rail < joined.listeners.size(); ++rail)
      listeners[rail].push_back(joined.listeners[rail]);
  }
  for (std::size_t i = 0; i < cores.size(); ++i) cores[i].tell(all.facts[i]);
  for (const auto& rail : listeners) all.welcome.listeners.push_back(session::AddressBook::of(rail));
  return all;
}

// Called periodically while ranks join, since nothing else watches the inputs then.
void SessionHost::check_gathering() {
  jobs_.receive_signals();
  if (jobs_.interrupted()) throw RunError("interrupted before all ranks had joined");
  pollfd reader{setup_.events_fd, 0, 0};
  if (::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0)
    throw RunError("the reader of the events ended before all ranks had joined");
  receive_reports();
  if (losses_.empty()) return;
  if (!all_heard_) all_heard_ = after_seconds(other_losses_seconds);
  if (milliseconds_left(*all_heard_) == 0) throw RunError(could_not_join(losses_));
}

void SessionHost::watch_inputs() {
  server_.watch(jobs_.signals_fd());
  server_.watch(jobs_.requests_fd());
  if (has_reports()) server_.watch(setup_.reports_fd);
  jobs_.receive_requests();
}

void SessionHost::receive_input(int fd) {
  if (fd == jobs_.signals_fd()) return jobs_.receive_signals();
  if (fd == setup_.reports_fd) {
    receive_reports();
    if (reports_.ended()) server_.unwatch(fd);
    return;
  }
  if (!jobs_.receive_requests()) server_.unwatch(fd);
}

void SessionHost::receive_reports() {
  if (!has_reports()) return;
  reports_.read();
  while (!reports_.empty()) {
    auto report = launch::parse_node_report(reports_.take());
    if (report && report->kind != launch::NodeReport::Kind::up) losses_.push_back(std::move(*report));
  }
}

std::string SessionHost::cause(Rank rank, bool wait) {
  for (int tries = wait ? cause_tries : 1; tries > 0; --tries) {
    if (rank == 0) {
      const std::lock_guard lock(mutex_);
      if (!rank_zero_reason_.empty()) return rank_zero_reason_;
    }
    receive_reports();
    const auto known = std::ranges::find(losses_, rank, &launch::NodeReport::first_rank);
    if (known != losses_.end()) return known->reason;
    if (wait) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

void SessionHost::rank_zero_failed(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  rank_zero_reason_ = reason;
}

int conduct_beside(SessionHost& conductor, const std::function<void(const session::Address&)>& work) {
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
