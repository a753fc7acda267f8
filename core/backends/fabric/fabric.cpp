// libfabric: tagged messages between reliable, connectionless endpoints. Where libfabric's headers were
// missing when this was compiled, it only says so.
#include <array>

#include "backends/fabric/rail.hpp"
#include "measure/gpu.hpp"
#include "program/registry.hpp"

namespace crosscut::backends::fabric {
namespace {

const std::array parameters{
    program::Parameter{
        .name = "provider",
        .kind = program::Parameter::Kind::choice,
        .initial = "tcp;ofi_rxm",
        .help = "libfabric's provider, the same on all ranks",
        .choices = {"tcp;ofi_rxm", "net", "shm", "tcp", "verbs;ofi_rxm", "efa", "cxi", "psm3", "opx"}},
    program::Parameter{.name = "transfer",
                       .kind = program::Parameter::Kind::choice,
                       .initial = "tagged",
                       .help =
                           "how a message's bytes travel: in a tagged message, or by an RMA write to memory "
                           "that the receiver offers",
                       .choices = {"tagged", "write"}},
    program::Parameter{.name = "domain",
                       .help = "the provider's domain, such as an adapter's name; empty takes its first, or "
                               "the one with the address of --interface"},
    program::Parameter{.name = "max-message",
                       .kind = program::Parameter::Kind::bytes,
                       .unit = "bytes",
                       .initial = "0",
                       .help = "a longer message is sent in parts of this size; 0 leaves the provider's own "
                               "limit"},
    measure::memory_kind,
};

constexpr std::string_view summary =
    "libfabric: fi_tsend and fi_trecv, or fi_tinject if short, on the endpoints of a provider (FI_EP_RDM)";

}  // namespace
}  // namespace crosscut::backends::fabric

#if defined(CROSSCUT_HAVE_FABRIC)

#include <sched.h>

#include <limits>
#include <tuple>

#include "backends/fabric/shared_memory.hpp"
#include "measure/live.hpp"

namespace crosscut::backends::fabric {
namespace {

// A message's memory, registered on the rails that ask for it; on a GPU, on all.
class Enrolled {
 public:
  Enrolled(std::size_t bytes, std::span<const std::unique_ptr<Rail>> rails, const measure::Gpu* gpu)
      : memory_(gpu != nullptr ? gpu->allocate(bytes) : Memory(bytes)) {
    for (const auto& rail : rails)
      if (gpu != nullptr || rail->needs_registration()) regions_.push_back(rail->enrol(memory_.span(), gpu));
  }
  std::span<std::byte> span() const { return memory_.span(); }

 private:
  Memory memory_;  // freed after its registrations
  std::vector<Registration> regions_;
};

class FabricTransport : public measure::HostTransport {
 public:
  FabricTransport(const measure::BackendContext& context, const program::Parameters& given)
      : context_(context),
        provider_(find_provider(given.text("provider"))),
        transfer_(given.text("transfer") == "write" ? Transfer::write : Transfer::tagged),
        gpu_(measure::gpu_of(given.text(measure::memory_kind.name), context.place)),
        progress_(context.control_thread.progress()) {
    // Without an address of an interface, several rails would be one and the same.
    const auto count = provider_.by_interface ? context.interfaces.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      rails_.push_back(std::make_unique<Rail>(
          choose(provider_, context.interfaces.at(i).host(), given.text("domain"),
                 {.gpus = gpu_ != nullptr, .writes = transfer_ == Transfer::write}),
          transfer_, static_cast<std::size_t>(context.ranks - 1), !context.polling && count == 1,
          static_cast<std::size_t>(given.integer("max-message")),
          // fi_tinject takes memory that the processor can read.
          gpu_ ? 0 : std::numeric_limits<std::size_t>::max()));
      note_progress();
    }
  }

  FabricTransport(const FabricTransport&) = delete;
  FabricTransport& operator=(const FabricTransport&) = delete;
  ~FabricTransport() {
    if (provider_.name == "shm") remove_left_behind();
  }

  void connect(std::span<const measure::ConnectionId> ids, std::uint32_t epoch) {
    if (provider_.name == "shm") remove_left_behind();
    for (const auto& rail : rails_) {
      rail->open();
      note_progress();
    }
    std::vector<std::pair<Rail*, Rank>> added;
    for (const auto& id : ids) {
      auto& rail = rail_of(id.rail);
      if (rail.knows(id.peer)) continue;
      tcp::with_peer(context_, id, [&] { rail.add(id.peer, exchange(rail.card(), id, epoch)); });
      added.emplace_back(&rail, id.peer);
      note_progress();
    }
    greet(added);
    drain();  // a peer's greeting may still need this rank
  }

  Memory allocate(std::size_t bytes) {
    auto enrolled = std::make_shared<Enrolled>(bytes, rails_, gpu_.get());
    const auto memory = enrolled->span();
    return {memory, [enrolled]() mutable { enrolled.reset(); }};
  }

  const measure::Gpu* gpu() const { return gpu_.get(); }

  void start_phase(std::span<const program::Op> ops) {
    parts_left_.assign(std::max<std::size_t>(ops.size(), 2), 0);
    is_ahead_ = false;
    next_ = {};
    for (std::size_t i = 0; i < rails_.size(); ++i) rails_[i]->begin_phase(ops, static_cast<std::uint8_t>(i));
  }

  void post(const program::Op& op, program::OpIndex index, std::byte* data) {
    auto& rail = rail_of(op.rail);
    const bool sends = op.kind == program::Op::Kind::send;
    const auto most = rail.most_bytes(op.peer), bytes = static_cast<std::size_t>(op.bytes);
    // What is tagged is the message, or the receiver's offer.
    const bool offers = is_offered(op);
    const auto tag =
        (offers ? offering : 0) | tag_of(sends != offers ? context_.rank : op.peer, op.channel, op.rail);
    parts_left_[static_cast<std::size_t>(index)] = bytes <= most ? 1 : (bytes + most - 1) / most;
    for (std::size_t from = 0; from == 0 || from < bytes; from += std::min(most, bytes - from)) {
      rail.push(sends, {op.peer, op.channel}, {index, tag, data + from, std::min(most, bytes - from)});
      if (bytes == 0) break;
    }
    rail.start(ended_);
  }

  void wait(std::vector<program::OpIndex>& completed) {
    const auto before = completed.size();
    while (true) {
      count_ended([&](program::OpIndex index) { completed.push_back(index); });
      if (completed.size() > before) return;
      look();
    }
  }

  void execute(const program::Op& op, std::byte* data) {
    const auto next = std::exchange(next_, {});
    if (!std::exchange(is_ahead_, false)) post(op, turn_, data);
    const auto this_turn = std::exchange(turn_, 1 - turn_);
    // The memory for an answer is offered along with what it answers.
    is_ahead_ =
        next.op != nullptr && op.kind == program::Op::Kind::send &&
        next.op->kind == program::Op::Kind::receive && is_offered(*next.op) &&
        std::tie(op.peer, op.channel, op.rail) == std::tie(next.op->peer, next.op->channel, next.op->rail);
    if (is_ahead_) post(*next.op, turn_, next.data);
    while (true) {
      count_ended([](program::OpIndex) {});
      if (parts_left_[static_cast<std::size_t>(this_turn)] == 0) return;
      look();
    }
  }

  void foresee(const program::Op& op, std::byte* data) { next_ = {&op, data}; }

  // Most providers move nothing unless they are called: a peer's message may need that until all have ended.
  void drain() {
    context_.barrier.wait([this] {
      for (const auto& rail : rails_) rail->progress(ended_);
    });
  }

  void disconnect() {
    for (const auto& rail : rails_) rail->close();
    ended_.clear();
    if (provider_.name == "shm") remove_left_behind();
  }

  // interrupt() does nothing: every wait looks for one.
  json::Value facts() const {
    const auto& rail = *rails_.front();
    const auto& info = rail.info();
    json::Object facts{
        {"library", version_text(library().version())},
        {"interface", version_text(library().interface())},
        {"provider", std::string(info.fabric_attr->prov_name)},
        {"provider_version", version_text(info.fabric_attr->prov_version)},
        {"fabric", std::string(info.fabric_attr->name)},
        {"domain", domains()},
        {"memory_registration", registration_text(info)},
        {"wait", context_.polling ? "fi_cq_read"
                 : rail.sleeps()  ? "fi_cq_sread"
                                  : "fi_cq_read, sched_yield"},
        {"inject_bytes", static_cast<std::int64_t>(rail.inject_bytes())},
        {"transfer", transfer_ == Transfer::write ? "fi_writedata to memory that the receiver offers"
                                                  : "fi_tsend to fi_trecv"},
        {"send_ends", transfer_ == Transfer::write
                          ? "the provider's completion"
                          : "the provider's completion; at most inject_bytes: when fi_tinject returns"}};
    if (rail.most_ahead() > 0)
      facts.emplace_back("delivered", "after " + std::to_string(rail.most_ahead()) +
                                          " short messages to a peer that sends none, the next ends when the "
                                          "peer has received it");
    if (gpu_) facts.emplace_back("gpu", gpu_->facts());
    return facts;
  }

 private:
  static constexpr std::uint64_t greeting = std::uint64_t{1} << 40, offering = std::uint64_t{1} << 41;
  struct Next {
    const program::Op* op = nullptr;
    std::byte* data = nullptr;
  };

  // The rails' domains, in the order of the rails.
  std::string domains() const {
    std::string text;
    for (const auto& rail : rails_)
      text += (text.empty() ? "" : ", ") + std::string(rail->info().domain_attr->name);
    return text;
  }

  static std::uint64_t tag_of(Rank source, std::uint8_t channel, std::uint8_t rail) {
    return static_cast<std::uint64_t>(source) << 16 | static_cast<std::uint64_t>(channel) << 8 | rail;
  }

  bool is_offered(const program::Op& op) const { return transfer_ == Transfer::write && op.bytes > 0; }

  // Takes note of the parts that have ended, and calls `complete` for each operation of which none is left.
  void count_ended(auto complete) {
    for (const auto index : ended_)
      if (--parts_left_[static_cast<std::size_t>(index)] == 0) complete(index);
    if (!ended_.empty()) note_progress();
    ended_.clear();
  }

  // To the conductor, which asks whether anything still happens.
  void note_progress() const {
    progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  Rail& rail_of(std::uint8_t number) {
    if (number < rails_.size()) return *rails_[number];
    throw UsageError("libfabric's provider " + std::string(provider_.name) +
                     " has no address of an interface, so that a rank has one rail; the pattern needs rail " +
                     std::to_string(number));
  }

  // Both ends connect as those of the backend tcp do, lower ranks first, and tell each other their addresses.
  Card exchange(const Card& mine, const measure::ConnectionId& id, std::uint32_t epoch) const {
    const auto deadline = after_seconds(context_.timeout_seconds);
    const auto to = connection(id, epoch, deadline);
    session::send_all(to.get(), std::as_bytes(std::span(&mine, 1)), deadline);
    Card theirs;
    session::receive_all(to.get(), std::as_writable_bytes(std::span(&theirs, 1)), deadline);
    return theirs;
  }

  Fd connection(const measure::ConnectionId& id, std::uint32_t epoch, Deadline deadline) const {
    if (context_.rank < id.peer)
      return context_.control_thread.accepted({session::Purpose::data, id.peer, epoch, 0, id.rail, 0},
                                              deadline);
    const session::Hello hello{session::Purpose::data, context_.rank, epoch, 0, id.rail, 0};
    const auto address = context_.addresses.at(id.rail).at(id.peer);
    // Retries, because a listener's queue may overflow when thousands connect at once.
    for (auto pause = std::chrono::milliseconds(5);;
         pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
      try {
        return session::connect_authenticated(address, context_.interfaces.at(id.rail), context_.secret,
                                              hello, deadline);
      } catch (const session::ConnectionLost&) {
        if (context_.control_thread.interrupted() || milliseconds_left(deadline) == 0) throw;
        std::this_thread::sleep_for(pause);
      }
    }
  }

  // Providers connect at the first message, which is not to be timed.
  void greet(std::span<const std::pair<Rail*, Rank>> added) {
    const auto deadline = after_seconds(context_.timeout_seconds);
    ended_.clear();
    for (const auto& [rail, peer] : added) {
      rail->push(false, {peer, 0}, {0, greeting | tag_of(peer, 0, 0), &token_, 0});
      rail->push(true, {peer, 0}, {0, greeting | tag_of(context_.rank, 0, 0), &token_, 0});
    }
    for (std::size_t ended = 0; ended < 2 * added.size(); ended = ended_.size()) {
      look();
      if (ended_.size() > ended) note_progress();
      if (milliseconds_left(deadline) == 0) give_up("no answer in time");
    }
    ended_.clear();
  }

  // Lets the provider make progress; waits for it, as the job says, if there is none.
  void look() {
    const auto before = ended_.size();
    for (const auto& rail : rails_) rail->progress(ended_);
    if (ended_.size() > before) return;
    if (context_.control_thread.interrupted()) give_up("interrupted");
    if (context_.polling) return;
    if (rails_.size() > 1 || !rails_.front()->sleep(ended_)) ::sched_yield();
  }

  [[noreturn]] void give_up(const std::string& why) const {
    for (const auto& rail : rails_) {
      const auto [peer, sends, refusal] = rail->unfinished();
      if (!peer) continue;
      const auto what = doing(sends, *peer) + (refusal.empty() ? "" : " (libfabric: " + refusal + ")");
      throw measure::PeerLost(*peer, what + " by libfabric: " + why, what);
    }
    throw session::ConnectionLost(why + " while waiting for a peer");
  }

  const measure::BackendContext& context_;
  const Provider& provider_;
  Transfer transfer_;
  std::unique_ptr<measure::Gpu> gpu_;  // outlives the rails
  std::atomic<std::uint64_t>& progress_;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::vector<std::size_t> parts_left_;  // [operation] parts that have not ended
  std::vector<program::OpIndex> ended_;  // parts that have, not yet counted
  Next next_;                            // the operation that execute() runs next, if any follows
  bool is_ahead_ = false;                // and whether it has been posted
  program::OpIndex turn_ = 0;            // 0 or 1: the index of the operation that execute() runs next
  std::byte token_{};
};

}  // namespace

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "fabric",
                                .summary = summary,
                                .parameters = parameters,
                                .tolerates_failure = true,
                                .why_missing = why_missing,
                                .devices = found_providers,
                                .make = measure::make_live<FabricTransport>};
}  // namespace crosscut::backends::fabric

#else

namespace crosscut::backends::fabric {
extern const program::BackendInfo info;
const program::BackendInfo info{
    .name = "fabric",
    .summary = summary,
    .parameters = parameters,
    .tolerates_failure = true,
    .unavailable = "built without libfabric's headers; install them (Debian: libfabric-dev) and build again"};
}  // namespace crosscut::backends::fabric

#endif
