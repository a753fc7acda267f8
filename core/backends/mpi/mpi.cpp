// MPI, two-sided. Part of every executable; without CROSSCUT_HAVE_MPI it only says why MPI is unavailable.
//
// Ranks reach the conductor over TCP, as with every backend, so that it can name a dead rank. MPI carries the
// measured messages and, once at the start, the session's configuration (with the secret) and the conductor's
// address.
#include "backends/mpi/mpi.hpp"

#include <array>

#include "base/error.hpp"
#include "program/registry.hpp"

namespace crosscut::backends::mpi {
namespace {

const std::array parameters{
    program::Parameter{
        .name = "mode",
        .kind = program::Parameter::Kind::choice,
        .initial = "non-blocking",
        .help =
            "MPI_Isend and MPI_Irecv, or MPI_Sendrecv in phases where a rank has one send and one receive",
        .choices = {"non-blocking", "sendrecv"}},
};

constexpr std::string_view summary =
    "MPI two-sided: MPI_Isend and MPI_Irecv, or MPI_Sendrecv; ping-pongs by MPI_Send and MPI_Recv";

}  // namespace
}  // namespace crosscut::backends::mpi

#if defined(CROSSCUT_HAVE_MPI)

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "backends/mpi/launcher_watch.hpp"
#include "backends/mpi/two_sided.hpp"
#include "measure/live.hpp"
#include "session/rank.hpp"
#include "session/resolve_interface.hpp"
#include "session/session_config.hpp"

namespace crosscut::backends::mpi {
namespace {

MPI_Comm copy_of_world() {
  MPI_Comm world = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return world;
}

class MpiTransport : public measure::HostTransport {
 public:
  MpiTransport(const measure::BackendContext& context, const program::Parameters& given)
      : progress_(context.control_thread.progress()),
        yielding_(!context.polling),
        sendrecv_(given.text("mode") == "sendrecv") {}
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;
  ~MpiTransport() { MPI_Comm_free(&world_); }

  // connect() does nothing: MPI connects at the first message, in the warm-up repetitions. interrupt() does
  // nothing either: the control thread ends the process when the conductor says so.
  void start_phase(std::span<const program::Op> ops) {
    // Only in phases of exactly one send and one receive: with more, a blocked MPI_Sendrecv could hold back
    // the operation that another rank's call waits for.
    const auto ready = [](const program::Op& op) { return op.after[0] < 0 && op.after[1] < 0; };
    exchanging_ =
        sendrecv_ && ops.size() == 2 && ops[0].kind != ops[1].kind && ready(ops[0]) && ready(ops[1]);
  }

  void post(const program::Op& op, program::OpIndex index, std::byte* data) {
    if (exchanging_) {
      exchange(op, index, data);
    } else {
      calls_.start(op, index, data);
    }
  }

  void wait(std::vector<program::OpIndex>& completed) {
    if (!finished_.empty()) {
      completed.insert(completed.end(), finished_.begin(), finished_.end());
      finished_.clear();
      return;
    }
    calls_.wait(completed, yielding_);
    moved();
  }

  void execute(const program::Op& op, std::byte* data) {
    calls_.execute(op, data);
    moved();
  }

  json::Value facts() const {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0, major = 0, minor = 0;
    MPI_Get_library_version(text.data(), &length);
    MPI_Get_version(&major, &minor);
    std::string library(text.data(), static_cast<std::size_t>(std::max(0, length)));
    library = library.substr(0, library.find('\n'));
    return json::Object{{"library", library},
                        {"standard", std::to_string(major) + "." + std::to_string(minor)}};
  }

 private:
  struct Held {
    program::Op op;
    program::OpIndex index = 0;
    std::byte* data = nullptr;  // null: nothing is held
  };

  // Holds the first of the two operations until the second is posted. That happens at once, since both are
  // ready when the phase starts.
  void exchange(const program::Op& op, program::OpIndex index, std::byte* data) {
    if (held_.data == nullptr) {
      held_ = {op, index, data};
      return;
    }
    const bool sends = op.kind == program::Op::Kind::send;
    const Held now{op, index, data};
    const auto& send = sends ? now : held_;
    const auto& receive = sends ? held_ : now;
    check(MPI_Sendrecv(send.data, count_of(send.op.bytes), MPI_BYTE, send.op.peer, tag_of(send.op),
                       receive.data, count_of(receive.op.bytes), MPI_BYTE, receive.op.peer,
                       tag_of(receive.op), world_, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    moved();
    finished_ = {held_.index, index};
    held_.data = nullptr;
  }

  void moved() { progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  std::atomic<std::uint64_t>& progress_;
  bool yielding_, sendrecv_, exchanging_ = false;
  MPI_Comm world_ = copy_of_world();
  TwoSided calls_{world_};
  std::vector<program::OpIndex> finished_;
  Held held_;
};

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
  setup.backend = "mpi";
  setup.place = config.place;
  setup.timeout_seconds = config.timeout_seconds;
  setup.oversubscribed = config.oversubscribed.value_or(false);
  setup.announce = [](const std::string& address) { broadcast(address); };
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
  // After a failure, other ranks may hang in MPI, and only an abort ends them all. A launcher then drops what
  // it has not yet forwarded, so the pause lets the error message through first.
  if (status == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Finalize();
  return status;
}

extern const program::BackendInfo info;
const program::BackendInfo info{
    .name = "mpi",
    .summary = summary,
    .parameters = parameters,
    .over_mpi = true,
    .make = measure::make_live<MpiTransport>};
}  // namespace crosscut::backends::mpi

#else

namespace crosscut::backends::mpi {

int mpi_rank_main(int, char**) {
  throw UsageError("this executable is built without MPI; use crosscut-core-mpi");
}

extern const program::BackendInfo info;
const program::BackendInfo info{
    .name = "mpi",
    .summary = summary,
    .parameters = parameters,
    .over_mpi = true,
    .unavailable =
        "this executable is built without MPI; use crosscut-core-mpi, made by `make "
        "install` with the PyPI package mpich, or by `crosscut build-mpi`"};
}  // namespace crosscut::backends::mpi

#endif
