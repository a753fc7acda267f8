// The timing loop over a transport in memory, with threads as ranks: errors on the way are found and their
// routes named.
#include <sys/socket.h>

#include <cmath>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "measure/live.hpp"
#include "program/in_flight.hpp"
#include "tests/check.hpp"
#include "tests/collective_result.hpp"
#include "tests/pattern_cases.hpp"

using namespace crosscut;
using namespace crosscut::measure;
using namespace crosscut::program;
using namespace crosscut::session;
using namespace crosscut::tests;

namespace {

constexpr std::int64_t message_bytes = 100;

// The message that has a bit flipped on its way.
struct Fault {
  Rank source = -1, destination = -1;
  std::int64_t number = 0;  // among those with bytes on this route, on any channel
  std::size_t bit = 0;
};

// The wires between all ranks: one queue per lane and direction.
class Wires {
 public:
  Wires(Rank ranks, Fault fault)
      : fault_(fault), sent_(static_cast<std::size_t>(ranks * ranks)), ranks_(ranks) {}

  void put(Rank from, const Op& op, const std::byte* data) {
    std::vector<std::byte> message(data, data + op.bytes);
    const std::lock_guard lock(mutex_);
    if (from == 0) first_rank_sent_to_.push_back(op.peer);
    if (op.bytes > 0) {
      const auto number = sent_[static_cast<std::size_t>(from * ranks_ + op.peer)]++;
      if (from == fault_.source && op.peer == fault_.destination && number == fault_.number)
        message[fault_.bit / 8 % message.size()] ^= static_cast<std::byte>(1U << (fault_.bit % 8));
    }
    queues_[{from, op.peer, op.channel, op.rail}].push_back(std::move(message));
    changed_.notify_all();
  }
  // Waits until `take` has taken something.
  template <typename Take>
  void await(Take&& take) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, take);
  }
  // Call only within `await`. Returns false if nothing has arrived yet.
  bool receive(Rank to, const Op& op, std::byte* data) {
    auto& queue = queues_[{op.peer, to, op.channel, op.rail}];
    if (queue.empty()) return false;
    std::ranges::copy(queue.front(), data);
    queue.pop_front();
    return true;
  }
  std::int64_t sent(Rank from, Rank to) const { return sent_[static_cast<std::size_t>(from * ranks_ + to)]; }
  const std::vector<Rank>& first_rank_sent_to() const { return first_rank_sent_to_; }

 private:
  using Lane = std::tuple<Rank, Rank, std::uint8_t, std::uint8_t>;
  Fault fault_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Lane, std::deque<std::vector<std::byte>>> queues_;
  std::vector<std::int64_t> sent_;        // [source * ranks + destination] messages with bytes
  std::vector<Rank> first_rank_sent_to_;  // by rank 0, in time order
  Rank ranks_;
};
Wires* wires = nullptr;  // the loop makes the transport, and does not know the wires

class WireTransport : public HostTransport {
 public:
  WireTransport(const BackendContext& context, const Parameters&)
      : rank_(context.rank), ranks_(context.ranks) {}
  WireTransport(const WireTransport&) = delete;
  WireTransport& operator=(const WireTransport&) = delete;
  ~WireTransport() { CHECK(regions_.empty()); }  // all memory is released before its owner

  // Like a network that reaches only registered memory.
  Memory allocate(std::size_t bytes) {
    auto region = std::make_unique<std::vector<std::byte>>(bytes);
    std::byte* at = region->data();
    regions_[at] = std::move(region);
    return {{at, bytes}, [this, at] { regions_.erase(at); }};
  }
  void post(const Op& op, OpIndex index, std::byte* data) {
    check_registered(op, data);
    if (op.kind == Op::Kind::send) {
      wires->put(rank_, op, data);
      sent_.push_back(index);
    } else {
      receives_.push_back({op, index, data});
    }
  }
  void wait(std::vector<OpIndex>& completed) {
    completed.insert(completed.end(), sent_.begin(), sent_.end());
    sent_.clear();
    if (!completed.empty()) return;
    wires->await([&] {
      std::erase_if(receives_, [&](const Receive& one) {  // in posting order: n-th matches n-th
        const bool came = wires->receive(rank_, one.op, one.data);
        if (came) completed.push_back(one.index);
        return came;
      });
      return !completed.empty();
    });
  }
  void start_phase(std::span<const Op>) { CHECK(next_ == nullptr); }
  void foresee(const Op& op, const std::byte*) { foreseen_ = &op; }
  void execute(const Op& op, std::byte* data) {
    CHECK(next_ == nullptr || next_ == &op);
    next_ = std::exchange(foreseen_, nullptr);
    check_registered(op, data);
    if (op.kind == Op::Kind::send) return wires->put(rank_, op, data);
    wires->await([&] { return wires->receive(rank_, op, data); });
  }
  // A library that sends every vector to every rank that takes part.
  void collect(const Op& op, std::byte* sent, std::byte* result) {
    const auto whole = static_cast<std::size_t>(op.bytes);
    std::vector<std::vector<std::byte>> vectors(static_cast<std::size_t>((ranks_ - 1) / op.every + 1),
                                                std::vector<std::byte>(whole));
    for (Rank peer = 0; peer < ranks_; peer += op.every)
      if (peer != rank_) wires->put(rank_, {.peer = peer, .bytes = op.bytes}, sent);
    const auto own = static_cast<std::size_t>(rank_ / op.every);
    std::copy_n(sent, whole, vectors[own].begin());
    for (Rank peer = 0; peer < ranks_; peer += op.every) {
      std::byte* const data = vectors[static_cast<std::size_t>(peer / op.every)].data();
      if (peer != rank_) wires->await([&] { return wires->receive(rank_, {.peer = peer}, data); });
    }
    give_result(op, own, vectors, result);
  }

 private:
  struct Receive {
    Op op;
    OpIndex index;
    std::byte* data;
  };
  void check_registered(const Op& op, const std::byte* data) const {
    CHECK(std::ranges::any_of(regions_, [&](const auto& one) {
      return data >= one.first && data + op.bytes <= one.first + one.second->size();
    }));
  }
  Rank rank_, ranks_;
  const Op* foreseen_ = nullptr;  // to follow the operation that is executed next
  const Op* next_ = nullptr;      // was foreseen
  std::map<std::byte*, std::unique_ptr<std::vector<std::byte>>> regions_;
  std::vector<OpIndex> sent_;
  std::deque<Receive> receives_;
};

// One rank, in this thread, from allocating memory to its samples.
RankSamples measure_one(Rank rank, Rank ranks, const Task& task, CacheState cache = CacheState::warm) {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const Fd conductor(ends[0]);
  ControlThread control_thread(Fd(ends[1]), {});
  BarrierTree barrier;  // of this rank alone: the wires keep phases in order
  const std::string secret;
  const std::vector<AddressBook> addresses;
  const std::vector<Address> interfaces;
  const BackendContext context{.rank = rank,
                               .ranks = ranks,
                               .secret = secret,
                               .control_thread = control_thread,
                               .barrier = barrier,
                               .addresses = addresses,
                               .interfaces = interfaces};
  LiveBackend<WireTransport> backend(context, Parameters({}, {}, "test"));
  backend.reserve(task.extent, {.limit_bytes = std::int64_t{1} << (cache == CacheState::warm ? 28 : 32),
                                .verify = task.verify,
                                .cache = cache});
  RankSamples samples = backend.run(task);
  // Each phase counts as progress, as these wires count nothing: otherwise a working rank would seem to hang.
  CHECK_EQ(control_thread.progress().load(), samples.status.size());
  return samples;
}

Task task_of(const Pattern& pattern, Rank ranks, std::int64_t bytes) {
  Task task;
  task.pattern = &pattern;
  task.bytes = bytes;
  task.extent = pattern.extent(ranks, bytes);
  return task;
}

struct Outcome {
  std::vector<RankSamples> samples;
  std::vector<WrongByte> wrong;
  std::vector<std::int64_t> sent;  // [source * ranks + destination]
  std::vector<Rank> first_rank_sent_to;
};

Outcome run_once(const Pattern& pattern, Rank ranks, const Fault& fault = {}, std::uint64_t order_seed = 0,
                 std::int64_t iterations = 1, CacheState cache = CacheState::warm) {
  Task task = task_of(pattern, ranks, message_bytes);
  task.block = {0, 0, std::min<std::int64_t>(task.extent.phases, 5), 0, 2};
  task.verify = cache == CacheState::warm;
  task.verify_seed = 17;
  task.order_seed = order_seed;
  task.iterations = iterations;
  Wires shared(ranks, fault);
  wires = &shared;
  Outcome outcome;
  outcome.samples.resize(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      outcome.samples[static_cast<std::size_t>(rank)] = measure_one(rank, ranks, task, cache);
    });
  for (std::thread& thread : threads) thread.join();
  for (const RankSamples& one : outcome.samples) {
    CHECK(std::cmp_equal(one.wrong.size(), one.wrong_count));
    outcome.wrong.insert(outcome.wrong.end(), one.wrong.begin(), one.wrong.end());
  }
  outcome.first_rank_sent_to = shared.first_rank_sent_to();
  for (Rank from = 0; from < ranks; ++from)
    for (Rank to = 0; to < ranks; ++to) outcome.sent.push_back(shared.sent(from, to));
  return outcome;
}

struct Case {
  std::string name;
  Given given;
};
const std::vector<Case> cases = {
    {"pingpong", {}},
    {"pingpong", {{"mode", "stream"}, {"count", "3"}, {"pairs", "0-4,3-1"}}},
    {"aapc", {}},
    {"aapc-burst", {}},
    {"pairwise", {}},
    {"simple-pairwise", {}},
    {"cumulative-pairwise", {}},
    {"random-pairwise", {}},
    {"pairs", {{"pairs", "0-4,1-2"}}},
    {"all-pairs", {}},
    {"streams", {}},
    {"chain", {{"segment", "30"}}},
    {"loaded-pingpong", {{"messages", "6"}}},
    {"bisection", {}},
    {"collective", {}},
    {"collective", {{"operation", "reduce-scatter"}}},
    {"collective", {{"operation", "all-gather"}}},
    {"collective", {{"operation", "broadcast"}}},
    {"collective", {{"operation", "all-to-all"}}},
    {"collective", {{"operation", "all-to-all-v"}}},
};
constexpr Rank everybody = 5;
constexpr std::int32_t windows[] = {1, 3};

std::unique_ptr<Pattern> pattern_of(const Case& one, std::int32_t window, std::int32_t rails = 1) {
  return in_flight(make_pattern(one.name, one.given), window, rails);
}

}  // namespace

TEST(correct_payload_is_accepted_in_every_pattern) {
  for (const auto& [window, rails] : {std::pair{1, 1}, {3, 1}, {2, 2}}) {
    for (const Case& one : cases) {
      const auto outcome = run_once(*pattern_of(one, window, rails), everybody);
      CHECK_EQ(one.name + ": " + std::to_string(outcome.wrong.size()), one.name + ": 0");
      for (const RankSamples& samples : outcome.samples)
        for (const double seconds : samples.message_seconds) CHECK(std::isnan(seconds) || seconds >= 0);
    }
  }
}

TEST(sent_bytes_equal_received_bytes_and_cost_processor_time) {
  for (const Case& one : cases) {
    const auto outcome = run_once(*make_pattern(one.name, one.given), everybody);
    Effort all;
    for (const RankSamples& samples : outcome.samples) {
      CHECK(samples.effort.processor_seconds >= 0);
      // A rank with operations in a phase spends time in it.
      const bool idle = samples.effort.sent_bytes + samples.effort.received_bytes == 0;
      CHECK(idle || samples.effort.elapsed_seconds > 0);
      all.add(samples.effort);
    }
    CHECK(all.sent_bytes > 0);
    CHECK_EQ(all.sent_bytes, all.received_bytes);
    // The wires count messages with bytes.
    CHECK(all.sent_bytes >= std::accumulate(outcome.sent.begin(), outcome.sent.end(), std::int64_t{0}));
  }
}

TEST(a_window_sends_each_message_as_often_and_signals_once) {
  for (const Case& one : cases) {
    const auto alone = run_once(*pattern_of(one, 1), everybody),
               many = run_once(*pattern_of(one, 3), everybody);
    for (std::size_t route = 0; route < alone.sent.size(); ++route)
      CHECK_EQ(many.sent[route], 3 * alone.sent[route]);
    for (std::size_t rank = 0; rank < alone.samples.size(); ++rank)
      CHECK_EQ(many.samples[rank].effort.received_bytes, 3 * alone.samples[rank].effort.received_bytes);
  }
  // Two repetitions of a message and its answer; rank 0 answers nothing.
  const auto answered = run_once(*in_flight(make_pattern("message-rate"), 4), 2);
  CHECK_EQ(answered.sent[0 * 2 + 1], 8);
  CHECK_EQ(answered.first_rank_sent_to.size(), 8);
}

TEST(times_of_a_window_are_those_of_one_message) {
  const auto pattern = in_flight(make_pattern("aapc"), 1000);
  const auto outcome = run_once(*pattern, 2);
  for (const RankSamples& samples : outcome.samples)
    for (std::size_t i = 0; i < samples.rank_seconds.size(); ++i) {
      // The effort is that of all messages, in two repetitions of one phase.
      CHECK(samples.rank_seconds[i] <= samples.effort.elapsed_seconds / 1000);
      CHECK(samples.message_seconds[i] <= samples.rank_seconds[i]);
    }
}

TEST(a_pair_s_bytes_are_counted_by_repetition) {
  const auto outcome = run_once(*make_pattern("pingpong", {}), 2);
  // There and back, two times.
  for (const RankSamples& samples : outcome.samples) {
    CHECK_EQ(samples.effort.sent_bytes, 2 * message_bytes);
    CHECK_EQ(samples.effort.received_bytes, 2 * message_bytes);
  }
}

TEST(a_bit_flipped_on_the_way_is_found_and_its_route_named) {
  std::mt19937 random(3);
  for (std::size_t number = 0; number < 2 * cases.size(); ++number) {
    const Case& one = cases[number / 2];
    const auto pattern = pattern_of(one, windows[number % 2]);
    const auto sent = run_once(*pattern, everybody).sent;
    for (std::size_t route = 0; route < sent.size(); ++route) {
      if (sent[route] == 0) continue;
      const Fault fault{static_cast<Rank>(route) / everybody, static_cast<Rank>(route) % everybody,
                        static_cast<std::int64_t>(random()) % sent[route], random() % 800};
      const auto wrong = run_once(*pattern, everybody, fault).wrong;
      const auto named = std::ranges::count_if(wrong, [&](const WrongByte& byte) {
        return byte.source == fault.source && byte.destination == fault.destination;
      });
      if (named != 1)
        CHECK_EQ(one.name + " " + std::to_string(route) + " was named " + std::to_string(named), "once");
      // A chain forwards what it received; the rank that introduced the wrong byte precedes all others.
      if (one.name != "chain") CHECK_EQ(wrong.size(), 1);
      for (const WrongByte& byte : wrong) {
        const int differing = byte.expected ^ byte.found;
        CHECK_EQ(differing, 1 << (fault.bit % 8));
        CHECK(byte.bytes == message_bytes && byte.phase >= 0);
      }
    }
  }
}

TEST(results_of_a_library_s_collectives_are_accepted) {
  for (const char* operation :
       {"all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all", "all-to-all-v", "barrier"}) {
    const auto pattern = make_pattern("collective", {{"operation", operation}, {"library", "only"}});
    for (const std::int64_t iterations : {1, 3}) {
      const auto outcome = run_once(*pattern, everybody, {}, 0, iterations);
      CHECK_EQ(operation + std::to_string(outcome.wrong.size()), operation + std::string("0"));
    }
    for (const char* every : {"1", "2", "3,2,1"})
      CHECK(run_once(*make_pattern("collective",
                                   {{"operation", operation}, {"library", "also"}, {"every", every}}),
                     everybody)
                .wrong.empty());
  }
}

TEST(a_wrong_byte_in_a_library_s_result_is_found) {
  for (const char* operation : {"all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all"}) {
    const auto pattern = make_pattern("collective", {{"operation", operation}, {"library", "only"}});
    const bool sums = std::string_view(operation).find("reduce") != std::string_view::npos;
    // Byte 1 of the vector of rank 0, or of rank 0's message to itself where each rank gets a block.
    const bool to_first =
        operation == std::string_view("reduce-scatter") || operation == std::string_view("all-to-all");
    const Fault fault{.source = to_first ? 1 : 0, .destination = to_first ? 0 : 2, .bit = 9};
    const auto wrong = run_once(*pattern, everybody, fault).wrong;
    REQUIRE(wrong.size() == 1);
    CHECK_EQ(wrong.front().destination, fault.destination);
    CHECK_EQ(wrong.front().source, sums ? fault.destination : fault.source);
    CHECK_EQ(wrong.front().offset, 1);
    CHECK(wrong.front().expected != wrong.front().found);
  }
}

TEST(a_wrong_byte_in_a_block_of_its_own_size_is_found) {
  const auto pattern = make_pattern("collective", {{"operation", "all-to-all-v"}, {"library", "only"}});
  constexpr std::int64_t at = message_bytes * (1 + 2) / 15 + 1;  // behind the blocks for ranks 0 and 1
  const auto wrong = run_once(*pattern, everybody, {.source = 0, .destination = 2, .bit = 8 * at}).wrong;
  REQUIRE(wrong.size() == 1);
  CHECK(wrong.front().source == 0 && wrong.front().destination == 2 && wrong.front().offset == at);
}

TEST(buffers_in_turn_lie_apart_and_within_their_memory) {
  const Rotation rotation(100, 1000);
  CHECK_EQ(rotation.bytes(), 1024U);
  for (std::size_t i = 0; i < 20; ++i) CHECK_EQ(rotation.shift(i), static_cast<std::ptrdiff_t>(i % 8 * 128));
  CHECK_EQ(Rotation(100, 0).shift(7), 0);
  CHECK(last_level_cache_bytes() >= 1 << 16);
}

// The wires check that each message lies in allocated memory.
TEST(every_pattern_runs_with_caches_in_every_state) {
  for (const auto state : {CacheState::rotate, CacheState::cold})
    for (const char* name : {"pingpong", "aapc", "chain", "collective"}) {
      const auto outcome = run_once(*make_pattern(name), 3, {}, 0, 3, state);
      const auto warm = run_once(*make_pattern(name), 3, {}, 0, 3);
      CHECK(outcome.sent == warm.sent);
    }
}

TEST(a_seed_draws_one_order_of_phases_for_all_repetitions) {
  const auto pattern = make_pattern("aapc");
  const std::vector<Rank> own{1, 2, 3, 4, 1, 2, 3, 4};  // phase i sends to the rank at distance i + 1
  CHECK(run_once(*pattern, everybody).first_rank_sent_to == own);
  std::set<std::vector<Rank>> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto sent_to = run_once(*pattern, everybody, {}, seed).first_rank_sent_to;
    REQUIRE(sent_to.size() == own.size());
    const std::vector<Rank> second(sent_to.begin() + 4, sent_to.end());
    sent_to.resize(4);
    CHECK(sent_to == second);
    orders.insert(sent_to);
    std::ranges::sort(sent_to);
    CHECK(sent_to == std::vector<Rank>({1, 2, 3, 4}));
  }
  CHECK(orders.size() > 5);
}

TEST(samples_are_stored_at_their_phase_in_any_order_of_phases) {
  const auto measured = [](const Outcome& outcome) {
    std::vector<bool> there;
    for (const RankSamples& one : outcome.samples)
      for (const double seconds : one.rank_seconds) there.push_back(!std::isnan(seconds));
    return there;
  };
  bool any_idle = false;
  for (const Case& one : cases) {
    const auto pattern = make_pattern(one.name, one.given);
    const auto own = measured(run_once(*pattern, everybody));
    const auto drawn = run_once(*pattern, everybody, {}, 7);
    CHECK(drawn.wrong.empty());
    CHECK(measured(drawn) == own);  // the idle ranks identify the phase
    any_idle |= std::ranges::count(own, false) > 0;
  }
  CHECK(any_idle);
}

TEST(a_part_has_the_order_of_the_whole) {
  const auto name = [](std::size_t index) { return static_cast<std::uint64_t>(index); };
  for (std::uint64_t seed = 1; seed < 10; ++seed) {
    auto whole = drawn_order(20, seed, name);
    std::erase_if(whole, [](std::size_t index) { return index < 12; });
    auto part =
        drawn_order(8, seed, [](std::size_t index) { return static_cast<std::uint64_t>(index + 12); });
    for (auto& index : part) index += 12;
    CHECK(part == whole);
  }
  CHECK(drawn_order(3, 0, name) == std::vector<std::size_t>({0, 1, 2}));
}

TEST(buffers_beyond_the_limit_are_refused_with_what_to_do) {
  const auto pattern = make_pattern("aapc");
  const Task task = task_of(*pattern, 2, std::int64_t{1} << 30);
  CHECK_THROWS_SAYING(UsageError, "raise --memory, or lower --size", measure_one(0, 2, task));
}

// The sum of the two buffers is negative: 2^63 bytes.
TEST(buffers_whose_sum_overflows_are_refused) {
  const auto pattern = make_pattern("aapc");
  Task task = task_of(*pattern, 2, 1);
  task.extent.send_bytes = task.extent.receive_bytes = std::int64_t{1} << 62;
  for (const auto state : {CacheState::warm, CacheState::rotate, CacheState::cold})
    CHECK_THROWS_SAYING(UsageError, "raise --memory, or lower --size", measure_one(0, 2, task, state));
}
