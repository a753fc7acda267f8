#include "launch/spawn_tree.hpp"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.hpp"
#include "launch/rank_process.hpp"

namespace crosscut::launch {
namespace {

// Quotes a word for the shell that ssh starts on the other host.
std::string shell_word(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

[[noreturn]] void become(const std::vector<std::string>& words, const Fd& in, const Fd& out, const Fd& err) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // Give ssh a process group of its own: Ctrl-C or a batch system's signal must not cut the lifelines before
  // rank 0 has stopped in order.
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(in.get(), STDIN_FILENO);
  ::dup2(out.get(), STDOUT_FILENO);
  ::dup2(err.get(), STDERR_FILENO);
  ::execvp(arguments.front(), arguments.data());
  write_once(STDERR_FILENO, "cannot run " + words.front() + ": " + ::strerror(errno) + "\n");
  ::_exit(127);
}

void write_error_line(const std::string& host, const std::string& line) {
  write_once(STDERR_FILENO, host + ": " + line + "\n");
}

}  // namespace

std::vector<std::vector<session::TreeHost>> split_hosts(const std::vector<session::TreeHost>& hosts,
                                                        int fanout) {
  const std::size_t parts = std::min(hosts.size(), static_cast<std::size_t>(std::max(fanout, 1)));
  std::vector<std::vector<session::TreeHost>> split;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto from = static_cast<std::ptrdiff_t>(hosts.size() * part / parts);
    const auto to = static_cast<std::ptrdiff_t>(hosts.size() * (part + 1) / parts);
    split.emplace_back(hosts.begin() + from, hosts.begin() + to);
  }
  return split;
}

SpawnTree::SpawnTree(session::SessionConfig config, session::Tree tree,
                     std::function<void(const NodeReport&)> report)
    : config_(std::move(config)), tree_(std::move(tree)), report_(std::move(report)) {}

SpawnTree::~SpawnTree() { kill(); }

void SpawnTree::start() { start_parts(tree_.hosts); }

void SpawnTree::start_parts(const std::vector<session::TreeHost>& hosts) {
  for (std::vector<session::TreeHost>& part : split_hosts(hosts, tree_.fanout)) start_branch(std::move(part));
}

std::string SpawnTree::first_line(const std::vector<session::TreeHost>& part) const {
  session::SessionConfig theirs = config_;
  theirs.host = part.front().host;
  theirs.first_rank = part.front().first_rank;
  theirs.count = part.front().count;
  theirs.reports = true;
  theirs.tree.reset();
  if (part.size() > 1)
    theirs.tree = {tree_.command, tree_.core, tree_.fanout, {part.begin() + 1, part.end()}};
  return json::write(session::to_json(theirs)) + "\n";
}

void SpawnTree::start_branch(std::vector<session::TreeHost> part) {
  Pipe input = make_pipe(), output = make_pipe(), errors = make_pipe();
  std::vector<std::string> words = tree_.command;
  words.push_back(part.front().host);
  words.push_back(shell_word(tree_.core) + " node");
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw_errno("start " + words.front());
  if (pid == 0) {
    die_with(self);
    become(words, input.read, output.write, errors.write);
  }
  Branch& branch = branches_.emplace_back();
  branch.part = std::move(part);
  branch.pid = pid;
  branch.input = std::move(input.write);
  branch.output = std::move(output.read);
  branch.errors = std::move(errors.read);
  for (const Fd* fd : {&branch.input, &branch.output, &branch.errors}) make_non_blocking(*fd);
  branch.unsent = first_line(branch.part);
  branch.start_deadline = after_seconds(config_.timeout_seconds);
}

void SpawnTree::add_to(std::vector<pollfd>& polled) const {
  for (const Branch& branch : branches_) {
    if (branch.input && !branch.unsent.empty()) polled.push_back({branch.input.get(), POLLOUT, 0});
    if (branch.output) polled.push_back({branch.output.get(), POLLIN, 0});
    if (branch.errors) polled.push_back({branch.errors.get(), POLLIN, 0});
  }
}

void SpawnTree::serve() {
  for (Branch& branch : branches_) {
    send(branch);
    receive(branch);
    if (!branch.up && !branch.timed_out && milliseconds_left(branch.start_deadline) == 0) {
      branch.timed_out = true;
      ::kill(branch.pid, SIGKILL);
    }
  }
}

void SpawnTree::send(Branch& branch) const {
  if (!branch.input || branch.unsent.empty()) return;
  const ssize_t sent = ::write(branch.input.get(), branch.unsent.data(), branch.unsent.size());
  if (sent > 0) branch.unsent.erase(0, static_cast<std::size_t>(sent));
  // Any other error means that ssh has ended; its exit status says why.
  if (sent < 0 && errno != EAGAIN && errno != EINTR) branch.unsent.clear();
}

void SpawnTree::receive(Branch& branch) {
  const std::string& host = branch.part.front().host;
  if (branch.errors)
    for (std::string& line : branch.error_lines.read(branch.errors.get())) {
      write_error_line(host, line);
      if (!line.empty()) branch.last_error = std::move(line);
    }
  if (branch.output)
    for (const std::string& line : branch.output_lines.read(branch.output.get())) {
      const std::optional<NodeReport> report = parse_node_report(line);
      if (!report) {
        write_error_line(host, line);
        continue;
      }
      if (report->kind == NodeReport::Kind::up && report->node == host) branch.up = true;
      report_(*report);
    }
  if (branch.error_lines.ended()) branch.errors.reset();
  if (branch.output_lines.ended()) branch.output.reset();
}

void SpawnTree::reaped(pid_t pid, int wait_status) {
  const auto found = std::ranges::find(branches_, pid, &Branch::pid);
  if (found == branches_.end()) return;
  receive(*found);  // the rest of its output
  Branch branch = std::move(*found);
  branches_.erase(found);
  if (!closed_) judge(branch, wait_status);
}

// Decides what the end of a branch means. A node that was up and ends in order returns 0 or 1 and has
// reported everything; other statuses come from ssh (255), a shell, or a node that could not continue.
void SpawnTree::judge(const Branch& branch, int wait_status) {
  const bool own_end = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) <= 1;
  if (branch.up && own_end) return;
  std::string reason = tree_.command.front() + " " + describe_end(wait_status);
  if (branch.timed_out)
    reason = "no answer within " + std::to_string(static_cast<int>(config_.timeout_seconds)) + " s";
  if (!branch.last_error.empty()) reason = branch.last_error + " (" + reason + ")";
  report_part(branch, reason);
  // Start the hosts behind a failed head from here, so that all unreachable hosts are found together.
  if (!branch.up && branch.part.size() > 1) start_parts({branch.part.begin() + 1, branch.part.end()});
}

void SpawnTree::report_part(const Branch& branch, const std::string& reason) {
  const session::TreeHost& head = branch.part.front();
  const NodeReport::Kind kind = branch.up ? NodeReport::Kind::lost : NodeReport::Kind::unreachable;
  report_({kind, head.host, head.first_rank, head.count, reason});
  if (!branch.up) return;
  for (auto host = branch.part.begin() + 1; host != branch.part.end(); ++host)
    report_({kind, host->host, host->first_rank, host->count,
             "it was started through " + head.host + ", which was lost"});
}

void SpawnTree::close() {
  closed_ = true;
  for (Branch& branch : branches_) branch.input.reset();
}

void SpawnTree::kill() {
  closed_ = true;
  for (const Branch& branch : branches_) ::kill(branch.pid, SIGKILL);
}

std::optional<Deadline> SpawnTree::next_deadline() const {
  std::optional<Deadline> next;
  for (const Branch& branch : branches_)
    if (!branch.up && !branch.timed_out && (!next || branch.start_deadline < *next))
      next = branch.start_deadline;
  return next;
}

}  // namespace crosscut::launch
