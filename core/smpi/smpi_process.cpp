#include "smpi/smpi_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.hpp"
#include "launch/rank_process.hpp"

namespace crosscut::smpi {
namespace {

constexpr auto player_variable = "CROSSCUT_SMPI_PLAYER";
constexpr std::size_t most_line_bytes = 1 << 16;
constexpr int idle_milliseconds = 100;

// Starts a program with the socket as standard input and the log as output. Returns 0 or an error number.
int spawn(const std::vector<std::string>& words, const Fd& socket, const Fd& log, pid_t& pid) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, socket.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, log.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, log.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // Its own process group: crosscut can end the whole group at once, and Ctrl-C reaches crosscut alone.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&pid, arguments.front(), &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

// Returns the end of the log as one line.
std::string last_words(const std::filesystem::path& log) {
  constexpr std::streamoff most = 600;
  std::ifstream file(log, std::ios::ate);
  if (!file) return {};
  file.seekg(std::max<std::streamoff>(0, file.tellg() - most));
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) text += (text.empty() ? "" : " | ") + line;
  }
  return text;
}

}  // namespace

std::filesystem::path find_smpi_player() {
  if (const char* named = std::getenv(player_variable); named != nullptr && *named != '\0') {
    if (::access(named, R_OK) == 0) return std::filesystem::absolute(named);
    throw UsageError(std::string(player_variable) + "=" + named + ": no such file; unset it or correct it");
  }
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  auto beside = self.parent_path() / smpi_player_name;
  if (::access(beside.c_str(), R_OK) == 0) return beside;
  throw UsageError("engine smpi needs " + std::string(smpi_player_name) + ", which is not in " +
                   self.parent_path().string() +
                   "; install SimGrid (apt install libsimgrid-dev), then run `crosscut build-smpi`");
}

SmpiProcess::SmpiProcess(Setup setup) : setup_(std::move(setup)) {
  start();
  const auto line = receive_line();
  if (!line.starts_with(smpi_says::ready)) throw RunError("the player under SMPI is not ready: " + line);
  version_ = line.substr(smpi_says::ready.size());
}

void SmpiProcess::start() {
  std::vector<std::string> words{
      "smpirun",   "-quiet",        "-no-privatize", "-np",        std::to_string(setup_.ranks),
      "-platform", setup_.platform, "-hostfile",     setup_.hosts, "--log=xbt_cfg.thresh:warning"};
  for (const auto& option : setup_.options) words.push_back("--cfg=" + option);
  words.push_back(find_smpi_player().string());

  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw_errno("create a pair of sockets");
  Fd ours(ends[0]), theirs(ends[1]);
  Fd log(::open(setup_.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!log) throw_errno("write " + setup_.log.string());
  const int error = spawn(words, theirs, log, group_.leader());
  if (error == ENOENT)
    throw UsageError(
        "engine smpi: SimGrid is not installed (smpirun is not on PATH); apt install libsimgrid-dev, or "
        "leave "
        "out --engine smpi");
  if (error != 0) throw RunError(std::string("starting smpirun: ") + ::strerror(error));
  socket_ = std::move(ours);
}

int SmpiProcess::Group::end(int signal) {
  int status = 0;
  if (leader_ <= 0) return status;
  ::kill(-leader_, signal);
  while (::waitpid(leader_, &status, 0) < 0 && errno == EINTR) {
  }
  leader_ = -1;
  return status;
}

void SmpiProcess::throw_ended() {
  // The smpirun script ends by itself soon after its simulation.
  std::this_thread::sleep_for(std::chrono::milliseconds(idle_milliseconds));
  const int status = group_.end(SIGTERM);
  const auto words = last_words(setup_.log);
  throw RunError("the simulation under SMPI ended: smpirun " + launch::describe_end(status) +
                 (words.empty() ? "" : "; it said: " + words));
}

std::size_t SmpiProcess::receive_some(std::span<std::byte> bytes) {
  pollfd waiting{socket_.get(), POLLIN, 0};
  while (true) {
    const int ready = ::poll(&waiting, 1, idle_milliseconds);
    if (ready < 0 && errno != EINTR) throw_errno("wait for the simulation");
    if (ready <= 0) {
      setup_.idle();
      continue;
    }
    const auto got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0 || errno == ECONNRESET) throw_ended();
    if (errno != EINTR) throw_errno("read from the simulation");
  }
}

std::string SmpiProcess::receive_line() {
  std::string line;
  for (std::byte one{}; line.size() < most_line_bytes;) {
    receive_some({&one, 1});  // no more than one byte: samples may follow
    if (one == std::byte{'\n'}) return line;
    line += static_cast<char>(one);
  }
  throw RunError("the SMPI player sent an endless line; is " + find_smpi_player().string() +
                 " from this version of crosscut? (crosscut build-smpi builds it)");
}

std::vector<double> SmpiProcess::play(const SmpiBlock& block) {
  const auto line = write_block(block);
  for (std::string_view left = line; !left.empty();) {
    const auto sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EPIPE) throw_ended();
    if (sent < 0 && errno != EINTR) throw_errno("ask the simulation");
    if (sent > 0) left.remove_prefix(static_cast<std::size_t>(sent));
  }
  const auto answer = receive_line();
  if (answer.starts_with(smpi_says::usage)) throw UsageError(answer.substr(smpi_says::usage.size()));
  if (answer != smpi_says::samples) throw RunError("the simulation under SMPI: " + answer);
  std::vector<double> samples(block.doubles(setup_.ranks));
  for (auto left = std::as_writable_bytes(std::span(samples)); !left.empty();)
    left = left.subspan(receive_some(left));
  return samples;
}

}  // namespace crosscut::smpi
