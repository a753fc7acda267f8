#include "clone_rank.hpp"

#include <signal.h>

#include <thread>

#include "clone_conductor.hpp"
#include "clone_worker.hpp"

namespace crosscut {
namespace {

void work(const RankSetup& setup, const Address& conductor) {
  CloneWorker(setup, join(setup, conductor)).serve();
}

int conduct_and_work(const RankSetup& setup) {
  CloneConductor conductor(setup, interfaces_of(setup).front());
  const Address address = conductor.address();
  std::thread conducting([&] { conductor.run(); });
  try {
    work(setup, address);
  } catch (const std::exception& error) {
    conductor.rank_zero_failed(error.what());
  }
  conducting.join();
  return conductor.exit_status();
}

}  // namespace

int run_clone_rank(const RankSetup& setup) {
  ::signal(SIGPIPE, SIG_IGN);
  if (setup.rank == 0) return conduct_and_work(setup);
  work(setup, Address::parse(setup.conductor));
  return 0;
}

}  // namespace crosscut
