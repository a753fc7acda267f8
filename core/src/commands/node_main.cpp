// The launcher with the real rank: all of it that needs more than the launcher itself.
#include "clone/clone_rank.hpp"
#include "launch/launch.hpp"

namespace crosscut {

int launch_local(SessionConfig config, int requests_fd, int events_fd) {
  config.first_rank = 0;
  config.count = config.ranks;
  if (config.secret.empty()) config.secret = random_secret();
  return launch(config, {requests_fd, events_fd, -1}, run_rank);
}

int node_main(int argc, char** argv) {
  return node_main_with(argc, argv, [](const RankSetup& setup) {
    return setup.backend == "clone" ? run_clone_rank(setup) : run_rank(setup);
  });
}

}  // namespace crosscut
