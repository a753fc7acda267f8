#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/line_buffer.hpp"
#include "conduct/session_lines.hpp"
#include "launch/launch.hpp"
#include "launch/spawn_tree.hpp"
#include "measure/locality.hpp"
#include "measure/machine.hpp"
#include "measure/pinning.hpp"
#include "session/join.hpp"
#include "session/resolve_interface.hpp"

namespace crosscut::launch {
namespace {

// Time for ranks, and for the nodes behind this one, to end before they are killed. Ranks normally end within
// milliseconds of rank 0's order; a node must first end its own ranks.
constexpr double rank_end_seconds = 3;
constexpr double tree_end_seconds = 10;

constexpr std::array handled_signals{SIGCHLD, SIGINT, SIGTERM, SIGHUP};

// Resolves an interface of this node's ranks, from which they must reach the conductor or another node.
std::string resolved(std::string_view interface, const session::SessionConfig& config) {
  std::string towards = config.conductor.empty() ? config.towards : config.conductor;
  if (towards.empty() && config.tree && !config.tree->hosts.empty()) towards = config.tree->hosts[0].host;
  const bool is_alone = config.count == config.ranks;
  return session::resolve_interface(interface == "auto" && is_alone ? "127.0.0.1" : interface, towards);
}

// The parent process of a node's ranks: one loop that handles their exits, signals, and the nodes behind this
// one.
class Node {
 public:
  Node(const session::SessionConfig& config, const LaunchStreams& streams, const RankBody& body)
      : config_(config), streams_(streams), body_(body), is_root_(config.has_conductor()) {
    interface_ = resolved(config_.interface, config_);
    control_interface_ = resolved(config_.control_interface, config_);
    const std::vector<int> allowed = measure::by_nearness(measure::allowed_cores(), near_cores());
    cores_ = measure::plan_cores(config_.pin, config_.pin_cores, allowed, config_.count);
    oversubscribed_ =
        config_.oversubscribed.value_or(static_cast<std::size_t>(config_.count) > allowed.size());
    last_words_ = LastWords::of_ranks(static_cast<std::size_t>(config_.count));
    raise_descriptor_limit();  // every rank may connect to many others
    sigset_t handled;
    ::sigemptyset(&handled);
    for (const int number : handled_signals) ::sigaddset(&handled, number);
    ::signal(SIGPIPE, SIG_IGN);
    if (::sigprocmask(SIG_BLOCK, &handled, &outer_signals_) != 0) throw_errno("block signals");
    signals_.reset(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) throw_errno("create a descriptor of signals");
  }

  ~Node() {
    kill_ranks();  // ranks are left only after an exception
    for (const auto& [pid, rank] : ranks_) ::waitpid(pid, nullptr, 0);
    ::sigprocmask(SIG_SETMASK, &outer_signals_, nullptr);
  }

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  int run() {
    if (is_root_)
      start_rank_0();
    else
      start_others();
    while (!ranks_.empty() || (tree_ && !tree_->empty())) {
      std::vector<pollfd> all = polled();
      const std::optional<Deadline> deadline = next_deadline();
      // Add a millisecond, so that the deadline has certainly passed when poll returns.
      const int patience = deadline ? milliseconds_left(*deadline) + 1 : -1;
      if (::poll(all.data(), all.size(), patience) < 0 && errno != EINTR) throw_errno("wait for ranks");
      read_address();
      read_lifeline();
      if (tree_) tree_->serve();
      read_signals();
      check_deadlines();
    }
    return status_ != 0 ? status_ : failed_ ? 1 : 0;
  }

 private:
  session::RankSetup setup_of(Rank rank) const {
    session::RankSetup setup;
    setup.rank = rank;
    setup.ranks = config_.ranks;
    setup.local_ranks = config_.count;
    setup.tells_of_node = rank == config_.first_rank;
    setup.host = config_.host;
    setup.secret = session::bytes_of_secret(config_.secret);
    setup.conductor = config_.conductor;
    setup.interface = interface_;
    setup.control_interface = control_interface_;
    setup.backend = config_.backend;
    setup.place = config_.place;
    setup.timeout_seconds = config_.timeout_seconds;
    setup.oversubscribed = oversubscribed_;
    return setup;
  }

  // Cores near the adapters of the ranks. Ranks report a wrong interface; here it has none.
  std::vector<int> near_cores() const try {
    return measure::cores_near(session::interfaces_of(setup_of(config_.first_rank)));
  } catch (const UsageError&) {
    return {};
  }

  void start_rank(const session::RankSetup& setup) {
    std::vector<int> closed{signals_.get()};
    for (const Fd* fd : {&address_, &reports_})
      if (*fd) closed.push_back(fd->get());
    if (setup.rank != 0)
      for (const int fd : {streams_.requests_fd, streams_.events_fd})
        if (fd > STDERR_FILENO) closed.push_back(fd);
    const auto here = static_cast<std::size_t>(setup.rank - config_.first_rank);
    RankProcess process{.setup = setup,
                        .core = {},
                        .closed = closed,
                        .signals = outer_signals_,
                        .last_words = last_words_[here]};
    if (!cores_.empty()) process.core = cores_[here];
    ranks_.emplace(fork_rank(process, body_), setup.rank);
  }

  void start_rank_0() {
    Pipe address = make_pipe(), reports = make_pipe();
    make_non_blocking(address.read);
    make_non_blocking(reports.write);
    address_ = std::move(address.read);
    reports_ = std::move(reports.write);
    session::RankSetup setup = setup_of(0);
    setup.requests_fd = streams_.requests_fd;
    setup.events_fd = streams_.events_fd;
    setup.address_fd = address.write.get();
    setup.reports_fd = reports.read.get();
    start_rank(setup);
    address_deadline_ = after_seconds(config_.timeout_seconds);
  }

  void read_address() {
    if (!address_) return;
    const std::vector<std::string> lines = address_lines_.read(address_.get());
    if (!lines.empty()) {
      config_.conductor = lines.front();
      address_.reset();
      address_deadline_.reset();
      start_others();
    } else if (address_lines_.ended()) {
      address_.reset();  // rank 0 has ended, as SIGCHLD will report
    }
  }

  void start_others() {
    // Report first: otherwise all ranks may have joined, and the session may be ready, before the report
    // arrives through ssh.
    take_report({NodeReport::Kind::up, config_.host, config_.first_rank, config_.count, {}});
    for (Rank rank = std::max(config_.first_rank, 1); rank < config_.first_rank + config_.count; ++rank) {
      start_rank(setup_of(rank));
      read_signals();  // thousands of ranks take a while
      if (status_ != 0 || signals_taken_ > 0) return;
    }
    if (!config_.tree) return;
    tree_ = std::make_unique<SpawnTree>(config_, *config_.tree,
                                        [this](const NodeReport& report) { take_report(report); });
    tree_->start();
  }

  std::vector<pollfd> polled() const {
    std::vector<pollfd> all{{signals_.get(), POLLIN, 0}};
    if (address_) all.push_back({address_.get(), POLLIN, 0});
    if (!is_root_ && streams_.lifeline_fd >= 0) all.push_back({streams_.lifeline_fd, POLLIN, 0});
    if (tree_) tree_->add_to(all);
    return all;
  }

  std::optional<Deadline> next_deadline() const {
    std::optional<Deadline> next = tree_ ? tree_->next_deadline() : std::nullopt;
    for (const std::optional<Deadline>& deadline :
         {address_deadline_, start_deadline_, ranks_deadline_, tree_deadline_, halt_deadline_})
      if (deadline && (!next || *deadline < *next)) next = deadline;
    return next;
  }

  void read_signals() {
    signalfd_siginfo info{};
    bool child_ended = false;
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD)
        child_ended = true;
      else
        take_signal(static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL);
    }
    if (child_ended) reap();
  }

  void take_signal(int number, bool from_terminal) {
    ++signals_taken_;
    if (!is_root_) {
      // Rank 0 ends the session. The ranks here must end even if rank 0 does not receive the signal.
      end_ranks_within(signals_taken_ == 1 ? config_.timeout_seconds : 0);
      return;
    }
    const auto rank_0 = std::ranges::find(ranks_, 0, [](const auto& one) { return one.second; });
    if (signals_taken_ > 2 || rank_0 == ranks_.end()) return end_ranks_within(0);
    // A terminal signals its whole foreground group, which includes rank 0 if rank 0 reads from it.
    if (!from_terminal || ::isatty(streams_.requests_fd) == 0)
      ::kill(rank_0->first, number == SIGHUP ? SIGTERM : number);
  }

  void reap() {
    int wait_status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &wait_status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
      const auto found = ranks_.find(pid);
      if (WIFSTOPPED(wait_status) || WIFCONTINUED(wait_status)) {
        if (found != ranks_.end()) rank_halted(found->second, WIFSTOPPED(wait_status));
      } else if (found != ranks_.end()) {
        const Rank rank = found->second;
        ranks_.erase(found);
        rank_ended(rank, wait_status,
                   last_words_[static_cast<std::size_t>(rank - config_.first_rank)].heard());
      } else if (tree_) {
        tree_->reaped(pid, wait_status);
      }
    }
  }

  // Watches rank 0 only: rank 0 itself detects other ranks that fall silent.
  void rank_halted(Rank rank, bool is_halted) {
    if (rank != 0) return;
    halt_deadline_.reset();
    if (is_halted) halt_deadline_ = after_seconds(2 * config_.timeout_seconds);
  }

  void rank_ended(Rank rank, int wait_status, const std::string& last_words) {
    if (rank != 0) {
      if (ended_well(wait_status) || is_ending_) return;
      const std::string why =
          "its process " + describe_end(wait_status) + (last_words.empty() ? "" : ": " + last_words);
      return take_report({NodeReport::Kind::failed_rank, config_.host, rank, 1, why});
    }
    address_deadline_.reset();
    start_deadline_.reset();
    status_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1;
    if (!unreachable_.empty()) {
      tell_unreachable();
      status_ = 1;
    } else if (WIFSIGNALED(wait_status) && !is_ending_) {
      say("rank 0, which conducted the session, " + describe_end(wait_status));
    }
    if (WIFSIGNALED(wait_status)) kill_ranks();  // nothing else would end them
    end_ranks_within(rank_end_seconds);
    end_tree();
  }

  // Discards input on the lifeline, since requests are for rank 0; ends this node when the lifeline closes.
  void read_lifeline() {
    if (is_root_ || streams_.lifeline_fd < 0) return;
    pollfd waiting{streams_.lifeline_fd, POLLIN, 0};
    if (::poll(&waiting, 1, 0) <= 0) return;
    std::array<char, 4096> ignored;
    const ssize_t got = ::read(streams_.lifeline_fd, ignored.data(), ignored.size());
    if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))) return;
    streams_.lifeline_fd = -1;
    end_ranks_within(rank_end_seconds);
    end_tree();
  }

  void check_deadlines() {
    const auto passed = [](std::optional<Deadline>& deadline) {
      if (!deadline || milliseconds_left(*deadline) > 0) return false;
      deadline.reset();
      return true;
    };
    const auto give_up = [&](const std::string& why) {
      say(why);
      failed_ = true;
      kill_ranks();
    };
    if (passed(address_deadline_))
      give_up("rank 0 did not report its address within the time-out; raise --timeout");
    if (passed(halt_deadline_))
      give_up("rank 0 on node " + measure::host_name() +
              ", which conducts the session, has been suspended by a signal for " +
              std::to_string(std::lround(2 * config_.timeout_seconds)) + " s; the session ends");
    if (passed(start_deadline_)) kill_ranks();  // the end of rank 0 then makes tell_unreachable() report why
    if (passed(ranks_deadline_)) {
      kill_ranks();
      end_tree();
    }
    if (passed(tree_deadline_) && tree_) tree_->kill();
  }

  // Reports on nodes and ranks go up the tree; the root tells rank 0 and the user.
  void say(const std::string& text) const { write_once(STDERR_FILENO, "crosscut-core: " + text + "\n"); }

  void take_report(const NodeReport& report) {
    if (is_root_) return take_report_at_root(report);
    if (report.kind != NodeReport::Kind::up) failed_ = true;
    if (config_.reports)
      write_once(streams_.events_fd, to_line(report));
    else if (report.kind != NodeReport::Kind::up)
      say(describe(report));
  }

  void take_report_at_root(const NodeReport& report) {
    using enum NodeReport::Kind;
    if (report.kind == up) {
      ranks_up_ += report.count;
    } else if (report.kind == unreachable) {
      unreachable_.push_back(report);
      ranks_unreachable_ += report.count;
      // The session cannot begin. Wait for the rest of the tree, to name all such hosts at once.
      if (!start_deadline_) start_deadline_ = after_seconds(config_.timeout_seconds);
    } else {
      failed_ = true;
      // A rank that exits has reported the reason itself. If the rank was killed or its node was lost, only
      // this process can report it.
      if (report.kind == lost || report.reason.starts_with("its process was killed")) say(describe(report));
      tell_rank_0(report);
    }
    check_start_up();
  }

  void tell_rank_0(const NodeReport& report) {
    for (Rank rank = report.first_rank; reports_ && rank < report.first_rank + report.count; ++rank)
      write_once(reports_.get(),
                 to_line({NodeReport::Kind::failed_rank, report.node, rank, 1, report.reason}));
  }

  void check_start_up() {
    if (unreachable_.empty() || ranks_up_ + ranks_unreachable_ < config_.ranks) return;
    start_deadline_.reset();
    kill_ranks();  // the end of rank 0 then makes tell_unreachable() report why
  }

  // Called after rank 0 has ended, so that its event stream is free; it cannot have started a job yet.
  void tell_unreachable() {
    std::string text = std::to_string(unreachable_.size()) + " hosts could not be started:";
    if (unreachable_.size() == 1) text = "a host could not be started:";
    for (const NodeReport& report : unreachable_) {
      text += (&report == unreachable_.data() ? " " : "; ") + report.node + ": " + report.reason;
      say(describe(report));
    }
    conduct::Events events(streams_.events_fd);
    events.error(text, false);
    events.ended();
  }

  void end_ranks_within(double seconds) {
    const Deadline deadline = after_seconds(seconds);
    if (!ranks_deadline_ || deadline < *ranks_deadline_) ranks_deadline_ = deadline;
    is_ending_ = true;
  }

  void end_tree() {
    if (!tree_ || tree_deadline_) return;
    tree_->close();
    tree_deadline_ = after_seconds(tree_end_seconds);
  }

  void kill_ranks() {
    is_ending_ = true;
    for (const auto& [pid, rank] : ranks_) ::kill(pid, SIGKILL);
  }

  session::SessionConfig config_;
  LaunchStreams streams_;
  const RankBody& body_;
  bool is_root_;
  std::string interface_, control_interface_;
  std::vector<int> cores_;  // [local rank]; empty: not pinned
  bool oversubscribed_ = false;
  sigset_t outer_signals_{};
  Fd signals_;
  Fd address_, reports_;  // pipes: the first brings rank 0's address, the second takes reports to it
  LineBuffer address_lines_;
  std::vector<LastWords> last_words_;  // [local rank]
  std::map<pid_t, Rank> ranks_;
  std::unique_ptr<SpawnTree> tree_;
  std::optional<Deadline> address_deadline_, start_deadline_, ranks_deadline_, tree_deadline_, halt_deadline_;
  Rank ranks_up_ = 0;                    // root: ranks on nodes that are up
  std::vector<NodeReport> unreachable_;  // root: found while starting
  Rank ranks_unreachable_ = 0;
  int signals_taken_ = 0;
  bool is_ending_ = false;  // true: ranks are expected to end
  bool failed_ = false;     // true: a rank other than 0, or a node, failed
  int status_ = 0;          // rank 0's, once it has ended
};

}  // namespace

int run_node(const session::SessionConfig& config, const LaunchStreams& streams, const RankBody& body) {
  return Node(config, streams, body).run();
}

}  // namespace crosscut::launch
