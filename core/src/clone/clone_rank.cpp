#include "clone/clone_rank.hpp"

#include <signal.h>

#include "clone/clone_conductor.hpp"
#include "clone/clone_worker.hpp"

namespace crosscut::clone {
namespace {

void work(const session::RankSetup& setup, const session::Address& conductor) {
  CloneWorker(setup, session::join(setup, conductor)).serve();
}

}  // namespace

int run_clone_rank(const session::RankSetup& setup) {
  ::signal(SIGPIPE, SIG_IGN);
  if (setup.rank == 0) {
    CloneConductor conductor(setup, session::interfaces_of(setup).front());
    return conduct::conduct_beside(conductor, [&](const session::Address& address) { work(setup, address); });
  }
  work(setup, session::Address::parse(setup.conductor));
  return 0;
}

}  // namespace crosscut::clone
