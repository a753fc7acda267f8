// MPI, one-sided. Part of every executable; without CROSSCUT_HAVE_MPI it only says why MPI is unavailable.
#include <array>

#include "backends/mpi/mpi.hpp"
#include "program/registry.hpp"

namespace crosscut::backends::rma {
namespace {

const std::array parameters{
    program::Parameter{.name = "operation",
                       .kind = program::Parameter::Kind::choice,
                       .initial = "put",
                       .help = "who moves the bytes of a message: the sender by MPI_Put, or the receiver by "
                               "MPI_Get",
                       .choices = {"put", "get"}},
};

constexpr std::string_view summary =
    "MPI one-sided: MPI_Put or MPI_Get to windows under lock_all, MPI_Win_flush, and a word that notifies";

}  // namespace
}  // namespace crosscut::backends::rma

#if defined(CROSSCUT_HAVE_MPI)

#include <sched.h>

#include "backends/rma/lines.hpp"
#include "measure/live.hpp"

namespace crosscut::backends::rma {
namespace {

// A message becomes an offer of memory (by the receiver for put, by the sender for get), the transfer by the
// other end, complete there when the flush returns, and a word that tells so to the end that offered.
class RmaTransport : public measure::HostTransport {
 public:
  RmaTransport(const measure::BackendContext& context, const program::Parameters& given)
      : control_(context.control_thread),
        progress_(control_.progress()),
        rank_(context.rank),
        ranks_(context.ranks),
        yielding_(!context.polling),
        offering_(given.text("operation") == "put" ? program::Op::Kind::receive : program::Op::Kind::send) {}

  Memory allocate(std::size_t bytes) { return windows_.allocate(bytes); }
  std::size_t agree_on(std::size_t bytes) {
    std::uint64_t most = bytes;
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, world_.get()), "MPI_Allreduce");
    return most;
  }

  // interrupt() does nothing: the control thread ends the process when the conductor says so.
  void connect(std::span<const measure::ConnectionId> ids, std::uint32_t) {
    std::size_t channels = 1, rails = 1;
    for (const auto& id : ids) {
      channels = std::max(channels, std::size_t{id.channel} + 1);
      rails = std::max(rails, std::size_t{id.rail} + 1);
    }
    channels = agree_on(channels);
    rails = agree_on(rails);
    if (lines_ && lines_->have(channels, rails)) return;
    lines_.reset();
    lines_ = std::make_unique<Lines>(world_.get(), ranks_, rank_, channels, rails);
  }

  void start_phase(std::span<const program::Op>) { next_ = {}; }

  void post(const program::Op& op, program::OpIndex index, std::byte* data) {
    auto& line = lines_->of(op);
    (offers(op) ? line.offering : line.moving).push({index, op.bytes, data});
    if (!std::exchange(line.is_active, true)) active_.push_back(&line);
    offer_more(line);
    start_moves(line);
  }

  void wait(std::vector<program::OpIndex>& completed) {
    const auto before = completed.size();
    await([&] {
      for (auto* line : active_) attend(*line, completed);
      finish_moves(completed);
      std::erase_if(active_, [](Line* line) {
        line->is_active = !line->offering.empty() || !line->moving.empty();
        return !line->is_active;
      });
      return completed.size() > before;
    });
  }

  void execute(const program::Op& op, std::byte* data) {
    auto& line = lines_->of(op);
    const auto next = std::exchange(next_, {});
    const auto hear = [&] { lines_->hear(line); };
    if (offers(op)) {
      if (!std::exchange(is_offered_, false)) offer(line, op.bytes, data);
      await([&] { return hear(), line.open_offers() == 0; });
      see_arrived(op.bytes, data);
    } else {
      await([&] { return hear(), line.may_move(); });
      const auto place = start_move(line, op.bytes, data);
      if (op.bytes > 0) windows_.at(place).flush(line.peer);
      ++line.moved;
      // An answer comes next: the word that offers for it also tells that this message is moved.
      is_offered_ = next.op != nullptr && offers(*next.op) && &lines_->of(*next.op) == &line;
      if (is_offered_) {
        offer(line, next.op->bytes, next.data);
      } else {
        lines_->tell_moved(line);
      }
    }
    progressed();
  }

  void foresee(const program::Op& op, const std::byte* data) { next_ = {&op, data}; }

  void drain() {
    lines_->flush();
    world_.drain(yielding_, control_);
  }

  json::Value facts() const {
    constexpr std::string_view flush = "flush by this rank", notified = "notification by the peer";
    const bool puts = offering_ == program::Op::Kind::receive;
    auto facts = mpi::library_facts();
    facts.emplace_back("send_ends", puts ? flush : notified);
    facts.emplace_back("receive_ends", puts ? notified : flush);
    return facts;
  }

 private:
  struct Next {
    const program::Op* op = nullptr;
    const std::byte* data = nullptr;
  };
  struct Move {
    Line* line = nullptr;
    Pending pending;
    Place place;
  };

  bool offers(const program::Op& op) const { return op.kind == offering_; }

  void offer(Line& line, std::int64_t bytes, const std::byte* data) {
    Place place;
    if (bytes > 0) {
      place = windows_.place_of(data);
      windows_.at(place).sync();  // before the peer's access
    }
    lines_->offer(line, place);
  }

  void offer_more(Line& line) {
    while (line.open_offers() < std::min<std::uint64_t>(Offer::most_open, line.offering.size())) {
      const auto& next = line.offering.at(line.open_offers());
      offer(line, next.bytes, next.data);
    }
  }

  Place start_move(Line& line, std::int64_t bytes, std::byte* data) const {
    const auto place = line.start_move();
    if (bytes == 0) return place;
    if (offering_ == program::Op::Kind::receive) {
      windows_.put(line.peer, place, data, bytes);
    } else {
      windows_.get(line.peer, place, data, bytes);
    }
    return place;
  }

  void attend(Line& line, std::vector<program::OpIndex>& completed) {
    const auto before = line.taken;
    lines_->hear(line);
    for (auto taken = before; taken < line.taken; ++taken) {
      const auto done = line.offering.pop();
      see_arrived(done.bytes, done.data);
      completed.push_back(done.index);
      progressed();
    }
    if (line.taken > before) offer_more(line);
    start_moves(line);
  }

  void start_moves(Line& line) {
    while (line.may_move() && !line.moving.empty()) {
      const auto pending = line.moving.pop();
      moves_.push_back({&line, pending, start_move(line, pending.bytes, pending.data)});
    }
  }

  // Waits for all moves that are under way. MPI cannot wait for one of them, or test.
  void finish_moves(std::vector<program::OpIndex>& completed) {
    for (const auto& move : moves_)
      if (move.pending.bytes > 0) windows_.at(move.place).flush(move.line->peer);
    for (const auto& move : moves_) {
      ++move.line->moved;
      completed.push_back(move.pending.index);
      progressed();
    }
    for (std::size_t i = 0; i < moves_.size(); ++i)
      if (i + 1 == moves_.size() || moves_[i].line != moves_[i + 1].line) lines_->tell_moved(*moves_[i].line);
    moves_.clear();
  }

  // Makes what a peer has moved to or from this rank's memory visible to its loads and stores.
  void see_arrived(std::int64_t bytes, const std::byte* data) const {
    if (bytes > 0) windows_.at(windows_.place_of(data)).sync();
  }

  void await(const auto& done) {
    if (done()) return;
    lines_->flush();
    for (unsigned looks = 1; !done(); ++looks) {
      // Over shared memory the words come by themselves; over a network MPI must be called. A look takes a
      // few nanoseconds, a call a hundred.
      if (!yielding_ && looks % 16 != 0) continue;
      int found = 0;
      mpi::check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world_.get(), &found, MPI_STATUS_IGNORE),
                 "MPI_Iprobe");
      if (control_.interrupted()) throw session::ConnectionLost("interrupted while waiting for a peer");
      if (yielding_) ::sched_yield();
    }
  }

  void progressed() {
    progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  session::ControlThread& control_;
  std::atomic<std::uint64_t>& progress_;
  Rank rank_, ranks_;
  bool yielding_;
  program::Op::Kind offering_;  // by which end
  mpi::World world_;
  MessageWindows windows_{world_.get()};
  std::unique_ptr<Lines> lines_;
  std::vector<Line*> active_;
  std::vector<Move> moves_;
  Next next_;                // the operation that execute() runs next, if anything follows
  bool is_offered_ = false;  // and whether it has been offered
};

}  // namespace

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "rma",
                                .summary = summary,
                                .parameters = parameters,
                                .rails = false,
                                .over_mpi = true,
                                .make = measure::make_live<RmaTransport>};
}  // namespace crosscut::backends::rma

#else

namespace crosscut::backends::rma {
extern const program::BackendInfo info;
const program::BackendInfo info{.name = "rma",
                                .summary = summary,
                                .parameters = parameters,
                                .rails = false,
                                .over_mpi = true,
                                .unavailable = mpi::without_mpi};
}  // namespace crosscut::backends::rma

#endif
