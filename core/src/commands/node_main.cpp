// `crosscut-core node`: starts ranks that measure or clone.
#include "clone/clone_rank.hpp"
#include "commands/commands.hpp"
#include "launch/launch.hpp"

namespace crosscut::commands {

int node_main(int argc, char** argv) {
  return launch::node_main_with(argc, argv, [](const session::RankSetup& setup) {
    return setup.backend == "clone" ? clone::run_clone_rank(setup) : session::run_rank(setup);
  });
}

}  // namespace crosscut::commands
