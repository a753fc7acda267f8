#include "launch/launch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/error.hpp"
#include "conduct/session_lines.hpp"
#include "program/registry.hpp"

namespace crosscut::launch {
namespace {

// Time limit for the configuration. The process that starts a node writes it at once.
constexpr double configuration_seconds = 30;
constexpr std::size_t conductor_line_bytes_max = 4096;

// Exit status of a node without rank 0 that could not continue. Status 1 means that the node ended in order
// and reported the reason.
constexpr int node_broke = 3;

// Opens closed standard streams, so that pipes opened later do not become standard streams of ranks.
void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
}

// Returns the backend that serves the whole session without starting ranks (sim); null if ranks are started.
const program::BackendInfo* serving_backend(const session::SessionConfig& config) {
  const auto found = std::ranges::find_if(program::backends(), [&](const program::BackendInfo* backend) {
    return backend->name == config.backend && backend->serve != nullptr;
  });
  return found == program::backends().end() ? nullptr : *found;
}

// Reads and checks the configuration. As soon as it is known, sets `is_first` to whether rank 0 is on this
// node.
session::SessionConfig read_configuration(bool& is_first) {
  const std::optional<std::string> line = session::read_line(STDIN_FILENO, session::configuration_bytes_max,
                                                             after_seconds(configuration_seconds));
  if (!line)
    throw UsageError(
        "standard input is empty; its first line configures the session "
        "(docs/reference/session-protocol.md)");
  session::SessionConfig config = session::parse_session(*line);
  session::apply_layout(config);
  const std::string secret = session::secret_from_environment();
  if (config.secret.empty()) config.secret = secret;
  if (serving_backend(config) != nullptr) return config;  // no ranks have to join
  if (config.secret.empty())
    throw UsageError("no secret: give `secret` in the session's first line, or CROSSCUT_SECRET");
  is_first = config.has_conductor();
  if (is_first || !config.conductor.empty()) return config;
  const std::optional<std::string> conductor = session::read_line(
      STDIN_FILENO, conductor_line_bytes_max, after_seconds(config.timeout_seconds), "the address of rank 0");
  if (!conductor) throw UsageError("standard input ended before the line with the conductor's address");
  config.conductor = session::parse_conductor_line(*conductor);
  return config;
}

// Reports an error on standard error and, if `tell_event`, as an event for programs. Returns the exit status.
int refuse(const std::exception& error, bool is_usage, bool tell_event) {
  std::cerr << "crosscut-core node: " << error.what() << std::endl;
  if (tell_event) {
    conduct::Events events(STDOUT_FILENO);
    events.error(error.what(), is_usage);
    events.ended();
  }
  if (is_usage) return 2;
  return tell_event ? 1 : node_broke;
}

}  // namespace

int launch(const session::SessionConfig& config, const LaunchStreams& streams, const RankBody& body) {
  if (const auto* backend = serving_backend(config))
    return backend->serve(config, streams.requests_fd, streams.events_fd);
  if (!config.network.empty() || config.ranks_per_host > 0)
    throw UsageError(
        "`network` and `ranks_per_host` are for simulated sessions (backend sim), not for backend " +
        config.backend);
  return run_node(config, streams, body);
}

int node_main_with(int argc, char** argv, const RankBody& body) {
  bool tell_event = true;  // until rank 0 is known to be on another node
  try {
    if (argc > 1)
      throw UsageError(std::string("`node` takes no arguments, but '") + argv[1] +
                       "' was given; its configuration comes on standard input");
    open_standard_streams();
    const session::SessionConfig config = read_configuration(tell_event);
    const bool has_lifeline = config.launcher.empty();  // a launcher ends its processes itself
    return launch(config, {STDIN_FILENO, STDOUT_FILENO, has_lifeline ? STDIN_FILENO : -1}, body);
  } catch (const UsageError& error) {
    return refuse(error, true, tell_event);
  } catch (const std::exception& error) {
    return refuse(error, false, tell_event);
  }
}

}  // namespace crosscut::launch
