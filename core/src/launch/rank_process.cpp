#include "launch/rank_process.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.hpp"
#include "base/utf8.hpp"
#include "measure/pinning.hpp"

namespace crosscut::launch {
namespace {

void take_streams(const session::RankSetup& setup) {
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw_errno("redirect the streams of rank " + std::to_string(setup.rank));
}

// Rank 0 conducts, so only rank 0 acts on a signal to stop; the node ends the other ranks if needed. A batch
// system or a terminal signals every process, and the others must survive that to finish the current block.
void take_signals(const RankProcess& process) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    action.sa_handler = process.setup.rank == 0 ? SIG_DFL : SIG_IGN;
    ::sigaction(number, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &process.signals, nullptr);
}

int run_child(const RankProcess& process, const RankBody& body) {
  session::RankSetup setup = process.setup;
  setup.last_words = [&](std::string_view words) { process.last_words.say(words); };
  return session::guarded(setup, [&] {
    for (const int fd : process.closed) ::close(fd);
    if (setup.rank != 0) take_streams(setup);
    // Give the rank its own process group, so that a signal to the node's group reaches it only through the
    // node. Rank 0 stays in the group if it reads a terminal, which only the foreground group may do.
    if (setup.rank != 0 || ::isatty(setup.requests_fd) == 0) ::setpgid(0, 0);
    take_signals(process);
    if (process.core) measure::pin_to(*process.core);
    return body(setup);
  });
}

}  // namespace

std::vector<LastWords> LastWords::of_ranks(std::size_t count) {
  const std::size_t bytes = std::max<std::size_t>(count, 1) * bytes_max;
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw_errno("allocate memory for ranks' failure reasons");
  const std::shared_ptr<char[]> all(static_cast<char*>(at), [bytes](char* from) { ::munmap(from, bytes); });
  std::vector<LastWords> words;
  for (std::size_t i = 0; i < count; ++i)
    words.push_back(LastWords(std::shared_ptr<char[]>(all, all.get() + i * bytes_max)));
  return words;
}

void LastWords::say(std::string_view text) const {
  const auto said = text.substr(0, bytes_max);
  std::fill(std::ranges::copy(said, text_.get()).out, text_.get() + bytes_max, '\0');
}

// A failing rank may have written anything: control characters become blanks, and bytes that are not UTF-8
// are left out.
std::string LastWords::heard() const {
  const std::string_view whole(text_.get(), bytes_max);
  std::string_view rest = whole.substr(0, whole.find('\0'));
  std::string text;
  while (!rest.empty()) {
    const std::size_t length = utf8_length(rest);
    const bool is_blank = length == 1 && static_cast<unsigned char>(rest.front()) < ' ';
    if (is_blank)
      text += ' ';
    else
      text += rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

void die_with(pid_t parent) {
  // If the parent ended between fork and prctl, the signal never comes.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
}

pid_t fork_rank(const RankProcess& process, const RankBody& body) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0)
    throw_errno("start the process of rank " + std::to_string(process.setup.rank) +
                " (ulimit -u limits the number of processes)");
  if (child > 0) return child;
  die_with(parent);
  std::exit(run_child(process, body));
}

std::string describe_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    std::string text = "was killed by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
    if (number == SIGKILL) text += ", by a user or by the kernel for lack of memory (see dmesg)";
    return text;
  }
  return "exited with status " + std::to_string(WEXITSTATUS(wait_status));
}

bool ended_well(int wait_status) { return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0; }

}  // namespace crosscut::launch
