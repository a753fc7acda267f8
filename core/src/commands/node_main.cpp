// `crosscut-core node`, and launching a local session: joins the launcher with the real ranks.
#include "clone/clone_rank.hpp"
#include "commands/commands.hpp"
#include "launch/launch.hpp"

namespace crosscut::commands {

int launch_local(session::SessionConfig config, int requests_fd, int events_fd) {
  config.first_rank = 0;
  config.count = config.ranks;
  if (config.secret.empty()) config.secret = session::random_secret();
  return launch::launch(config, {requests_fd, events_fd, -1}, session::run_rank);
}

int node_main(int argc, char** argv) {
  return launch::node_main_with(argc, argv, [](const session::RankSetup& setup) {
    return setup.backend == "clone" ? clone::run_clone_rank(setup) : session::run_rank(setup);
  });
}

}  // namespace crosscut::commands
