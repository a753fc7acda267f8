// MPI, two-sided. Part of every executable; without CROSSCUT_HAVE_MPI it only says why MPI is unavailable.
#include "backends/mpi/mpi.hpp"

#include <array>

#include "measure/gpu.hpp"
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
    measure::memory_kind,
};

constexpr std::string_view summary =
    "MPI two-sided: MPI_Isend and MPI_Irecv, or MPI_Sendrecv; ping-pongs by MPI_Send and MPI_Recv";

}  // namespace
}  // namespace crosscut::backends::mpi

#if defined(CROSSCUT_HAVE_MPI)

#include "backends/mpi/collectives.hpp"
#include "backends/mpi/library.hpp"
#include "backends/mpi/two_sided.hpp"
#include "measure/live.hpp"

namespace crosscut::backends::mpi {
namespace {

class MpiTransport : public measure::HostTransport {
 public:
  MpiTransport(const measure::BackendContext& context, const program::Parameters& given)
      : control_(context.control_thread),
        progress_(control_.progress()),
        yielding_(!context.polling),
        sendrecv_(given.text("mode") == "sendrecv"),
        memory_kinds_(given.text(measure::memory_kind.name)),
        place_(context.place) {}

  // All ranks have come this far, so that one that refuses leaves none waiting in MPI.
  void accept(const program::Extent& extent) {
    if (!gpu_) gpu_ = measure::gpu_of(memory_kinds_, place_);
    if (gpu_ && !sends_from_cuda())
      throw UsageError(
          "--memory-kind cuda: this MPI does not say that it sends from a GPU's memory; use one built with "
          "CUDA (then crosscut build-mpi), switch it on (Cray: MPICH_GPU_SUPPORT_ENABLED=1), or give "
          "--memory-kind host");
    if (sendrecv_ && extent.window > 1)
      throw UsageError("--mode sendrecv has one message in flight, but the window is " +
                       std::to_string(extent.window) + "; add --window 1, or leave out --mode");
  }

  Memory allocate(std::size_t bytes) const { return gpu_ ? gpu_->allocate(bytes) : Memory(bytes); }
  const measure::Gpu* gpu() const { return gpu_.get(); }

  // connect() does nothing: MPI connects at the first message, in the warm-up repetitions. interrupt() does
  // nothing either: the control thread ends the process when the conductor says so.
  void start_phase(std::span<const program::Op> ops) {
    // Only in phases of exactly one send and one receive: with more, a blocked MPI_Sendrecv could hold back
    // the operation that another rank's call waits for.
    const auto ready = [](const program::Op& op) { return op.after[0] < 0 && op.after[1] < 0; };
    exchanging_ =
        sendrecv_ && ops.size() == 2 && ops[0].kind != ops[1].kind && ready(ops[0]) && ready(ops[1]);
    // Makes the communicator now, outside what is timed.
    for (const program::Op& op : ops)
      if (op.kind == program::Op::Kind::collective) collective_ranks_ = world_.every(op.every);
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

  // A blocking call, as programs use it: libraries often choose other algorithms for MPI_Iallreduce. Like the
  // other blocking calls here, it ends with the process when the conductor says so.
  void collect(const program::Op& op, std::byte* sent, std::byte* result) {
    run_collective(op, sent, result, collective_ranks_);
    moved();
  }

  void drain() { world_.drain(yielding_, control_); }
  json::Value facts() const {
    auto facts = library_facts();
    if (gpu_) facts.emplace_back("gpu", gpu_->facts());
    return facts;
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
                       tag_of(receive.op), world_.get(), MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    moved();
    finished_ = {held_.index, index};
    held_.data = nullptr;
  }

  void moved() { progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  session::ControlThread& control_;
  std::atomic<std::uint64_t>& progress_;
  bool yielding_, sendrecv_, exchanging_ = false;
  std::string memory_kinds_;
  int place_;
  std::unique_ptr<measure::Gpu> gpu_;
  World world_;
  MPI_Comm collective_ranks_ = MPI_COMM_NULL;  // of the phase's collectives
  TwoSided calls_{world_.get()};
  std::vector<program::OpIndex> finished_;
  Held held_;
};

}  // namespace

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "mpi",
                                .summary = summary,
                                .parameters = parameters,
                                .collectives = true,
                                .rails = false,
                                .over_mpi = true,
                                .make = measure::make_live<MpiTransport>};
}  // namespace crosscut::backends::mpi

#else

namespace crosscut::backends::mpi {

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "mpi",
                                .summary = summary,
                                .parameters = parameters,
                                .collectives = true,
                                .rails = false,
                                .over_mpi = true,
                                .unavailable = without_mpi};
}  // namespace crosscut::backends::mpi

#endif
