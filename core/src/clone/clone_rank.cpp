#include "clone/clone_rank.hpp"

#include <signal.h>

#include "clone/clone_conductor.hpp"
#include "clone/clone_worker.hpp"

namespace crosscut {
namespace {

void work(const RankSetup& setup, const Address& conductor) {
  CloneWorker(setup, join(setup, conductor)).serve();
}

}  // namespace

int run_clone_rank(const RankSetup& setup) {
  ::signal(SIGPIPE, SIG_IGN);
  if (setup.rank == 0) {
    CloneConductor conductor(setup, interfaces_of(setup).front());
    return conduct_beside(conductor, [&](const Address& address) { work(setup, address); });
  }
  work(setup, Address::parse(setup.conductor));
  return 0;
}

}  // namespace crosscut
