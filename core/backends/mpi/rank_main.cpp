// One rank under an MPI launcher, whichever backend over MPI it measures with.
//
// Ranks reach the conductor over TCP, as with every backend, so that it can name a dead rank. MPI carries the
// measured messages and, once at the start, the session's configuration (with the secret) and the conductor's
// address.
#include "backends/mpi/mpi.hpp"
#include "base/error.hpp"

#if defined(CROSSCUT_HAVE_MPI)

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "backends/mpi/launcher_watch.hpp"
#include "backends/mpi/library.hpp"
#include "session/rank.hpp"
#include "session/resolve_interface.hpp"
#include "session/session_config.hpp"

namespace crosscut::backends::mpi {
namespace {

// Broadcasts rank 0's text to all ranks and returns it.
std::string broadcast(std::string text) {
  auto bytes = static_cast<int>(text.size());
  check(MPI_Bcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(bytes));
  check(MPI_Bcast(text.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return text;
}

// Unlinks the names of MPICH's shared memory in /dev/shm, which no rank needs once all have mapped it. MPICH
// itself unlinks them only at the end, so a killed job leaves megabytes there on each node.
void drop_names_of_shared_memory() {
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  constexpr std::string_view ours = "/dev/shm/mpich_shm_";
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto at = line.find(ours);
    if (at == std::string::npos || line.find_first_of(" /", at + ours.size()) != std::string::npos) continue;
    ::unlink(line.c_str() + at);  // fails if another rank of this node was faster
  }
}

// After a failure, other ranks may hang in MPI, and only an abort ends them all. A launcher then drops what
// it has not yet forwarded, so the pause lets the error message through first.
void abort_all() {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

constexpr int usage_status = 2;

int run_as(int rank, int size, LauncherWatch& launcher) {
  // Rank 0 broadcasts a line in any case, because the others wait for it.
  std::string line, why = "no session configuration on standard input of rank 0";
  try {
    if (rank == 0)
      line = session::read_line(0, session::configuration_bytes_max, after_seconds(60)).value_or("");
  } catch (const UsageError& error) {
    why = error.what();
  }
  line = broadcast(std::move(line));
  if (line.empty()) throw UsageError(why);
  const auto config = session::parse_session(line);
  if (config.ranks != size) {
    throw UsageError("MPI started " + std::to_string(size) + " ranks in one job, but " +
                     std::to_string(config.ranks) +
                     " are expected; does the launcher belong to another MPI than crosscut-core-mpi?");
  }
  session::RankSetup setup;
  setup.rank = rank;
  setup.ranks = size;
  setup.local_ranks = size;
  setup.secret = session::bytes_of_secret(config.secret);
  setup.backend = config.backend;
  setup.place = config.place;
  setup.timeout_seconds = config.timeout_seconds;
  setup.oversubscribed = config.oversubscribed.value_or(false);
  setup.announce = [](const std::string& address) { broadcast(address); };
  setup.abandon = [rank](std::string_view reason) {
    std::fprintf(stderr, "crosscut-core-mpi: rank %d: %s\n", rank, std::string(reason).c_str());
    abort_all();
  };
  if (rank == 0) {
    try {
      setup.interface = session::resolve_interface(config.interface, config.towards);
    } catch (const std::exception&) {
      setup.announce("");
      throw;
    }
    launcher.end();
    return session::run_rank(setup);
  }
  setup.conductor = broadcast({});
  if (setup.conductor.empty()) return usage_status;  // rank 0 says why
  setup.interface = session::resolve_interface(config.interface, setup.conductor);
  launcher.end();
  return session::run_rank(setup);
}

}  // namespace

int mpi_rank_main(int argc, char** argv) {
  int provided = 0;
  LauncherWatch launcher;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  drop_names_of_shared_memory();
  int rank = 0, size = 1, status = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    status = run_as(rank, size, launcher);
  } catch (const UsageError& error) {
    if (rank == 0) std::fprintf(stderr, "crosscut-core-mpi: %s\n", error.what());
    status = usage_status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "crosscut-core-mpi: rank %d: %s\n", rank, error.what());
  }
  if (status == 1) abort_all();
  MPI_Finalize();
  return status;
}

}  // namespace crosscut::backends::mpi

#else

namespace crosscut::backends::mpi {

int mpi_rank_main(int, char**) { throw UsageError(std::string(without_mpi)); }

}  // namespace crosscut::backends::mpi

#endif
