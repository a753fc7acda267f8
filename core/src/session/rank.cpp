#include "session/rank.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "conduct/job.hpp"
#include "measure/machine.hpp"
#include "program/registry.hpp"
#include "session/barrier_tree.hpp"
#include "session/control_thread.hpp"
#include "session/join.hpp"
#include "session/messages.hpp"
#include "session/remote_ranks.hpp"
#include "session/root_clock.hpp"

namespace crosscut::session {
namespace {

// Measures the clock: the smallest step between two readings, and the cost of a reading.
json::Object clock_facts() {
  constexpr int readings = 10'000;
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  const auto first = monotonic_nanoseconds();
  auto last = first;
  for (int i = 0; i < readings; ++i) {
    const auto now = monotonic_nanoseconds();
    if (now > last) step = std::min(step, now - last);
    last = now;
  }
  return {{"name", "CLOCK_MONOTONIC"},
          {"resolution_seconds", static_cast<double>(step) * 1e-9},
          {"cost_seconds", static_cast<double>(last - first) * 1e-9 / readings}};
}

// The measuring thread of one rank: receives the conductor's orders and carries them out.
class RankLoop {
 public:
  RankLoop(const RankSetup& setup, Membership member)
      : setup_(setup),
        interfaces_(std::move(member.interfaces)),
        control_interface_(member.control_interface),
        control_thread_(std::move(member.control), std::move(member.acceptors), setup.silence_seconds()),
        context_{.rank = setup.rank,
                 .ranks = setup.ranks,
                 .secret = setup_.secret,
                 .control_thread = control_thread_,
                 .barrier = barrier_,
                 .addresses = addresses_,
                 .interfaces = interfaces_,
                 .timeout_seconds = setup.timeout_seconds} {
    control_thread_.on_interrupt([this] {
      barrier_.interrupt();
      const std::lock_guard lock(backend_mutex_);
      if (backend_) backend_->interrupt();
    });
  }

  ~RankLoop() { control_thread_.on_interrupt({}); }

  void serve() {
    while (true) {
      const auto frame = next_frame();
      // The control thread, while there is one, ends a process that hangs in its library.
      if (frame.type == FrameType::end) return replace_backend(nullptr);
      try {
        handle(frame);
      } catch (const measure::PeerLost& lost) {
        if (control_thread_.interrupted()) waited_for_ = {lost.peer, lost.doing};
        complain({lost.peer, lost.what()});
      } catch (const ConnectionLost& lost) {
        complain({-1, lost.what()});
      } catch (const UsageError& error) {
        control_thread_.send(FrameType::refused, pack(Refusal{true, error.what()}));
      } catch (const std::exception& error) {
        control_thread_.send(FrameType::refused, pack(Refusal{false, error.what()}));
      }
    }
  }

 private:
  // Returns what the conductor sends next, to this rank or down the tree.
  Frame next_frame() {
    while (true) {
      if (auto frame = control_thread_.next_or(has_parent_ ? barrier_.parent_fd() : -1)) return *frame;
      try {
        auto order = barrier_.from_above();
        control_thread_.measuring();
        return order;
      } catch (const ConnectionLost&) {
        has_parent_ = false;  // until the conductor, which knows of the loss, has the tree built again
      }
    }
  }

  void complain(const Complaint& complaint) {
    // After an interrupt, the conductor knows the cause better than this rank does.
    if (!control_thread_.interrupted()) control_thread_.send(FrameType::complaint, pack(complaint));
  }

  void handle(const Frame& frame) {
    switch (frame.type) {
      case FrameType::welcome:
        return welcome(unpack<Welcome>(frame.payload));
      case FrameType::rebuild:
        return rebuild(unpack<Welcome>(frame.payload));
      case FrameType::job:
        return take_job(Reader(frame.payload).get<std::string>());
      case FrameType::run:
        barrier_.pass_down(frame);
        return run(unpack<RunOrder>(frame.payload));
      case FrameType::abort_block:
        return abort_block();
      case FrameType::end_job:
        return end_job();
      default:
        throw RunError(
            "the conductor sent a message that this version does not know; install the same version of "
            "crosscut on every node");
    }
  }

  void welcome(const Welcome& message) {
    addresses_ = message.listeners;
    control_addresses_ = setup_.control_interface.empty() ? addresses_.at(0) : addresses_.back();
    if (!setup_.control_interface.empty()) addresses_.pop_back();
    const auto mine = message.node.at(static_cast<std::size_t>(setup_.rank));
    // Several launchers may have started ranks on this machine, each of which knows only its own ranks.
    const auto beside = std::count(message.node.begin(), message.node.end(), mine);
    oversubscribed_ = setup_.oversubscribed || beside > ::sysconf(_SC_NPROCESSORS_ONLN);
    context_.place =
        static_cast<int>(std::count(message.node.begin(), message.node.begin() + setup_.rank, mine));
    leads_node_ = context_.place == 0;
    rebuild(message);
  }

  void rebuild(const Welcome& message) {
    epoch_ = message.epoch;
    const auto place = BarrierTree::place(setup_.rank, setup_.ranks, message.lost);
    const auto deadline = after_seconds(setup_.timeout_seconds);
    Fd parent;
    std::vector<Fd> children;
    if (place.parent >= 0) parent = connect_to_parent(place.parent, deadline);
    for (const auto child : place.children) {
      children.push_back(control_thread_.accepted({Purpose::tree, child, epoch_, 0, 0}, deadline));
    }
    barrier_.set(std::move(parent), std::move(children), place.children);
    has_parent_ = place.parent >= 0;
    Ready ready{.clock_uncertainty_seconds = root_clock_.start(barrier_), .facts = {}};
    if (setup_.rank == 0) ready.facts = json::write(clock_facts());
    control_thread_.send(FrameType::ready, pack(ready));
  }

  Fd connect_to_parent(Rank parent, Deadline deadline) {
    const Hello hello{Purpose::tree, setup_.rank, epoch_, 0, 0};
    while (true) {
      try {
        return connect_authenticated(control_addresses_.at(parent), control_interface_, setup_.secret, hello,
                                     deadline);
      } catch (const ConnectionLost& lost) {
        if (control_thread_.interrupted() || milliseconds_left(deadline) == 0)
          throw measure::PeerLost(parent, lost.what());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
  }

  void take_job(const std::string& text) {
    const auto before = std::exchange(job_, conduct::parse_job(json::parse(text)));
    pattern_ = conduct::make_pattern(job_);
    const auto& backend = conduct::usable_backend(job_);
    if (backend.make == nullptr)
      throw UsageError("backend " + job_.backend +
                       " cannot run in this session; start a session with that backend");
    context_.polling = job_.wait == "poll" || (job_.wait == "auto" && !oversubscribed_);
    barrier_.poll(context_.polling);
    const program::Parameters parameters(backend.parameters, job_.backend_parameters,
                                         "backend " + job_.backend);
    const bool same = job_.backend == before.backend &&
                      job_.backend_parameters == before.backend_parameters && job_.wait == before.wait;
    if (!backend_ || !same) replace_backend(backend.make(context_, parameters));
    program::Extent largest{};
    for (const auto bytes : job_.sizes) {
      const auto extent = pattern_->extent(setup_.ranks, bytes);
      largest.send_bytes = std::max(largest.send_bytes, extent.send_bytes);
      largest.receive_bytes = std::max(largest.receive_bytes, extent.receive_bytes);
      largest.adds = largest.adds || extent.adds;
      largest.window = extent.window;
      if (extent.rails > static_cast<std::int32_t>(interfaces_.size())) {
        throw UsageError("the job needs " + std::to_string(extent.rails) +
                         " interfaces, but each rank has only " + std::to_string(interfaces_.size()) +
                         "; list them as --interface A,B, or lower --rails");
      }
    }
    backend_->reserve(
        largest,
        {.limit_bytes = job_.memory_bytes, .verify = job_.verify, .cache = measure::cache_state(job_.cache)});
    json::Object facts;
    if (leads_node_) facts.emplace_back("wait", context_.polling ? "poll" : "block");
    say_ready(std::move(facts));
  }

  void replace_backend(std::unique_ptr<measure::Backend> made) {
    std::unique_ptr<measure::Backend> old;
    const std::lock_guard lock(backend_mutex_);
    old = std::exchange(backend_, std::move(made));
  }

  void say_ready(json::Object facts) {
    if (leads_node_) {
      facts.emplace_back("node", measure::host_name());
      facts.emplace_back("counters", measure::node_counters(interfaces_));
    }
    if (std::ranges::any_of(interfaces_, [&](const Address& one) {
          return std::ranges::equal(one.number(), control_interface_.number());
        })) {
      auto carried = barrier_.carried();
      carried += control_thread_.carried();
      facts.emplace_back("control", to_json(carried));
    }
    Ready ready;
    if (!facts.empty()) ready.facts = json::write(facts);
    control_thread_.send(FrameType::ready, pack(ready));
  }

  void run(const RunOrder& order) {
    if (!pattern_ || !backend_) throw RunError("asked to measure without a job");
    const measure::Task task{.pattern = pattern_.get(),
                             .bytes = order.request.bytes,
                             .extent = pattern_->extent(setup_.ranks, order.request.bytes),
                             .block = order.request.block,
                             .iterations = order.request.iterations,
                             .epoch = order.epoch,
                             .lost = order.lost,
                             .barrier = job_.sync == "barrier",
                             .verify = job_.verify,
                             .compute = job_.compute,
                             .noise = measure::Noise(job_.noise, job_.seed, setup_.rank),
                             .verify_seed = job_.seed,
                             .order_seed = job_.order_seed};
    auto samples = backend_->run(task);
    if (!samples.started.empty()) root_clock_.convert(barrier_, samples.started);
    barrier_.pass_up(pack(RankEntry{setup_.rank, std::move(samples)}),
                     [&](const Frame& frame) { control_thread_.send(frame.type, frame.payload); });
  }

  void abort_block() {
    if (backend_) backend_->disconnect();
    barrier_.clear();
    control_thread_.clear_interrupt(epoch_ + 1);
    control_thread_.listen(true);
    control_thread_.send(FrameType::aborted, pack(std::exchange(waited_for_, {})));
  }

  void end_job() {
    json::Object facts;
    if (setup_.rank == 0 && backend_) facts.emplace_back("backend", backend_->facts());
    if (auto lanes = backend_ ? backend_->lanes() : json::Value(); !lanes.is_null())
      for (auto& [name, said] : lanes.object()) facts.emplace_back(name, std::move(said));
    if (auto traffic = backend_ ? backend_->traffic() : json::Value(); !traffic.is_null())
      facts.emplace_back("traffic", std::move(traffic));
    if (!job_.keep_connections) replace_backend(nullptr);
    pattern_.reset();
    say_ready(std::move(facts));
  }

  const RankSetup& setup_;
  std::vector<Address> interfaces_;
  Address control_interface_;
  AddressBook control_addresses_;
  std::vector<AddressBook> addresses_;  // [rail]
  BarrierTree barrier_;
  RootClock root_clock_;
  std::mutex backend_mutex_;  // guards backend_ against the control thread's interrupt
  std::unique_ptr<measure::Backend> backend_;
  ControlThread control_thread_;
  measure::BackendContext context_;
  conduct::Job job_;
  std::unique_ptr<program::Pattern> pattern_;
  std::uint32_t epoch_ = 0;
  Complaint waited_for_;     // what this rank waited for when the block was aborted
  bool has_parent_ = false;  // whom orders may come from
  bool leads_node_ = false, oversubscribed_ = false;
};

void measure(const RankSetup& setup, const Address& conductor) {
  RankLoop loop(setup, join(setup, conductor));
  try {
    loop.serve();
  } catch (const ConnectionLost& error) {
    if (setup.abandon) setup.abandon(error.what());
    throw;
  }
}

int conduct_and_measure(const RankSetup& setup) {
  std::unique_ptr<conduct::SessionHost> conductor;
  try {
    conductor = make_conductor(setup, control_interface_of(setup));
  } catch (const std::exception& error) {
    // Other ranks wait for the address; an empty one means that there is no conductor.
    if (setup.announce) setup.announce("");
    // Report now: the launcher may wait for the other nodes before it ends, and the reader of the events
    // would learn nothing until then.
    conduct::Events events(setup.events_fd);
    events.error(error.what(), dynamic_cast<const UsageError*>(&error) != nullptr);
    events.ended();
    throw;
  }
  if (setup.announce) setup.announce(conductor->address().text());
  return conduct::conduct_beside(*conductor, [&](const Address& address) { measure(setup, address); });
}

}  // namespace

int guarded(const RankSetup& setup, const std::function<int()>& body) {
  const auto leave = [&](const std::exception& error, int status) {
    // The launcher that takes last words says how rank 0 ended; thousands of ranks need not repeat it.
    if (!setup.last_words || dynamic_cast<const ConductorGone*>(&error) == nullptr)
      write_once(STDERR_FILENO,
                 "crosscut-core: rank " + std::to_string(setup.rank) + ": " + error.what() + "\n");
    if (setup.last_words) setup.last_words(error.what());
    return status;
  };
  try {
    return body();
  } catch (const UsageError& error) {
    return leave(error, 2);
  } catch (const std::exception& error) {
    return leave(error, 1);
  }
}

int run_rank(const RankSetup& setup) {
  ::signal(SIGPIPE, SIG_IGN);
  return guarded(setup, [&] {
    if (setup.rank == 0) return conduct_and_measure(setup);
    measure(setup, Address::parse(setup.conductor));
    return 0;
  });
}

}  // namespace crosscut::session
