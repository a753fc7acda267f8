// Phases in virtual time: each rule of the message model by itself, and the two ways to compute a phase
// compared on every pattern.
#include "backends/sim/phase.hpp"
#include "base/error.hpp"
#include "patterns/operations.hpp"
#include "tests/check.hpp"
#include "tests/flow_tables.hpp"
#include "tests/pattern_cases.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::backends::sim;
using namespace crosscut::networks;
using namespace crosscut::patterns;
using namespace crosscut::program;
using namespace crosscut::tests;

// Each rank has a link out and a link in; the capacity `shared` lies between all of them.
class Star final : public Paths {
 public:
  Star(Rank ranks, double link, double shared = std::numeric_limits<double>::infinity())
      : capacities_(2 * static_cast<std::size_t>(ranks), link) {
    capacities_.push_back(shared);
  }
  std::span<const double> capacities() const override { return capacities_; }
  double path(const Route& route, std::vector<CapacityIndex>& uses) const override {
    uses.insert(uses.end(), {2 * route.source, static_cast<CapacityIndex>(capacities_.size()) - 1,
                             2 * route.destination + 1});
    return latency;
  }
  double send_overhead(Rank) const override { return send; }
  double receive_overhead(Rank) const override { return receive; }
  double latency = 0, send = 0, receive = 0;

 private:
  std::vector<double> capacities_;
};

// Shorthands for operations.
class Written final : public Phase {
 public:
  explicit Written(std::vector<std::vector<Op>> ops) : ops_(std::move(ops)) {}
  void emit(Rank rank, std::vector<Op>& ops) const override { ops = ops_[static_cast<std::size_t>(rank)]; }
  double credited_bytes(Rank) const override { return 0; }
  Rank ranks() const { return static_cast<Rank>(ops_.size()); }

 private:
  std::vector<std::vector<Op>> ops_;
};

bool never() { return false; }

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

// done[rank][operation]
std::vector<std::vector<double>> done(const Paths& paths, const Written& phase, std::int64_t eager_bytes = 0,
                                      Knee knee = Knee()) {
  PhaseSimulation simulation(paths, {.eager_bytes = eager_bytes, .knee = knee, .spread = {}}, never);
  simulation.run(phase, phase.ranks());
  std::vector<std::vector<double>> all;
  for (Rank rank = 0; rank < phase.ranks(); ++rank) {
    const auto& times = simulation.times().done;
    all.emplace_back(times.begin() + static_cast<std::ptrdiff_t>(simulation.program().first(rank)),
                     times.begin() + static_cast<std::ptrdiff_t>(simulation.program().first(rank + 1)));
  }
  return all;
}

Op after(Op op, OpIndex first) {
  op.after = {first, phase_start};
  return op;
}

}  // namespace

TEST(a_message_takes_overheads_bytes_over_rate_and_latency) {
  Star star(2, 100);
  star.latency = 3, star.send = 0.5, star.receive = 0.25;
  const auto times = done(star, Written({{send_to(1, 1000)}, {receive_from(0, 1000)}}));
  CHECK_EQ(times[0][0], 10.5);   // drained
  CHECK_EQ(times[1][0], 13.75);  // the last byte has arrived and was taken
}

TEST(an_eager_send_is_complete_when_handed_over) {
  Star star(2, 100);
  star.send = 0.5;
  const auto times = done(star, Written({{send_to(1, 1000)}, {receive_from(0, 1000)}}), 1000);
  CHECK_EQ(times[0][0], 0.5);
  CHECK_EQ(times[1][0], 10.5);
}

TEST(a_rendezvous_waits_for_its_receive_and_an_eager_message_does_not) {
  Star star(3, 100);
  // Rank 1 takes rank 2's message (5 s) before rank 0's.
  const Written phase(
      {{send_to(1, 1000)}, {receive_from(2, 500), after(receive_from(0, 1000), 0)}, {send_to(1, 500)}});
  CHECK_EQ(done(star, phase)[1][1], 15.0);
  // As eager messages the two share the link into rank 1: 500 of each in 10 s, the rest in 5.
  const auto eager = done(star, phase, 1000);
  CHECK_EQ(eager[1][0], 10.0);
  CHECK_EQ(eager[1][1], 15.0);
  CHECK_EQ(eager[0][0], 0.0);
}

TEST(a_sample_begins_where_its_operation_says_and_is_divided) {
  Star star(2, 100);
  auto answer = after(receive_from(1, 500), 0);  // posted when the send is done, after 10 s
  answer.slot = 0, answer.since = 0, answer.divisor = 2;
  auto late = after(receive_from(1, 100), 1);
  late.slot = 1, late.since = 2;
  const Written phase({{send_to(1, 1000), answer, late},
                       {receive_from(0, 1000), after(send_to(0, 500), 0), after(send_to(0, 100), 1)}});
  PhaseSimulation simulation(star, {.eager_bytes = 0, .knee = Knee(), .spread = {}}, never);
  simulation.run(phase, 2);
  std::vector<double> messages(4), ranks(2);
  simulation.samples(2, messages, ranks);
  CHECK_EQ(messages[0], (15.0 - 0.0) / 2);  // since the send was posted
  CHECK_EQ(messages[1], 16.0 - 15.0);       // since its own posting
  CHECK(std::isnan(messages[2]) && std::isnan(messages[3]));
  CHECK_EQ(ranks[0], 16.0);
}

TEST(an_eager_message_may_wait_for_its_receive) {
  Star star(3, 100);
  const Written phase(
      {{send_to(1, 100)}, {receive_from(2, 100'000), after(receive_from(0, 100), 0)}, {send_to(1, 100'000)}});
  const auto times = done(star, phase, 1000);
  CHECK_EQ(times[1][1], times[1][0]);  // it had arrived long before
  CHECK_EQ(times[0][0], 0.0);
}

TEST(overheads_of_a_rank_follow_one_another) {
  Star star(3, 1e9);
  star.send = 2, star.receive = 5;
  const auto times = done(star, Written({{send_to(1, 0), send_to(2, 0)},
                                         {receive_from(0, 0), receive_from(2, 0)},
                                         {receive_from(0, 0), send_to(1, 0)}}));
  CHECK_EQ(times[0], (std::vector<double>{2, 4}));
  // Both have arrived at 2; one is taken by 7, the other by 12.
  CHECK_EQ(times[1], (std::vector<double>{7, 12}));
  CHECK_EQ(times[2], (std::vector<double>{9, 2}));
}

TEST(an_empty_message_takes_only_overheads_and_latency) {
  Star star(2, 100, 1e-300);
  star.latency = 3, star.send = 1, star.receive = 2;
  CHECK_EQ(done(star, Written({{send_to(1, 0)}, {receive_from(0, 0)}}))[1][0], 6.0);
}

TEST(dependent_operations_start_when_an_operation_is_complete) {
  Star star(2, 100);
  star.latency = 1;
  std::vector<Op> first, second;
  add_ping(first, 1, 1000, from_start, 0);
  add_pong(second, 0, 1000, from_start);
  PhaseSimulation simulation(star, {}, never);
  const Written phase({first, second});
  simulation.run(phase, 2);
  std::vector<double> message(2), rank(2);
  simulation.samples(1, message, rank);
  CHECK_EQ(rank[0], 22.0);
  CHECK_EQ(message[0], 11.0);  // half a round trip
  CHECK(std::isnan(message[1]));
}

TEST(the_nth_send_of_a_lane_meets_the_nth_receive) {
  Star star(2, 100);
  Op other = send_to(1, 100);
  other.channel = 1;
  Op other_receive = receive_from(0, 100);
  other_receive.channel = 1;
  const Written phase({{send_to(1, 300), other, after(send_to(1, 500), 0)},
                       {other_receive, receive_from(0, 300), receive_from(0, 500)}});
  const auto times = done(star, phase);
  CHECK_EQ(times[1][0], 2.0);
  CHECK_EQ(times[1][1], 4.0);
  CHECK_EQ(times[1][2], 9.0);
}

TEST(a_connection_carries_one_message_after_another) {
  Star star(3, 100);
  const Written phase({{send_to(1, 100), send_to(1, 300), send_to(1, 0), send_to(2, 400)},
                       {receive_from(0, 100), receive_from(0, 300), receive_from(0, 0)},
                       {receive_from(0, 400)}});
  for (const std::int64_t eager : {0, 1000}) {
    const auto times = done(star, phase, eager);
    CHECK_EQ(times[1][0], 2.0);  // half the rate: one connection of two
    CHECK_EQ(times[1][1], 8.0);
    CHECK_EQ(times[1][2], 8.0);
    CHECK_EQ(times[2][0], 8.0);
  }
}

TEST(pieces_of_a_chain_follow_each_other) {
  // The first of n pieces is forwarded while the second arrives: n + hops - 1 times the time of a piece.
  constexpr int pieces = 5, hops = 3;
  Star star(hops + 1, 100);
  std::vector<std::vector<Op>> ops(hops + 1);
  for (Rank rank = 0; rank <= hops; ++rank) {
    auto& mine = ops[static_cast<std::size_t>(rank)];
    for (int piece = 0; piece < pieces; ++piece) {
      if (rank > 0) mine.push_back(receive_from(rank - 1, 200));
      if (rank == hops) continue;
      const auto received = static_cast<OpIndex>(mine.size()) - 1;
      mine.push_back(rank > 0 ? after(send_to(rank + 1, 200), received) : send_to(1, 200));
    }
  }
  const Written phase(ops);
  for (const std::int64_t eager : {0, 1000})
    CHECK(near(done(star, phase, eager)[hops].back(), 2.0 * (pieces + hops - 1)));
}

TEST(rates_change_when_messages_begin_and_end) {
  Star star(4, 100, 100);
  // A long and a short message share 100; then the long one has it alone, until a third starts at 6.
  const Written phase({{send_to(1, 1000)},
                       {receive_from(0, 1000)},
                       {send_to(3, 200), after(receive_from(3, 400), 0)},
                       {receive_from(2, 200), after(send_to(2, 400), 0)}});
  const auto times = done(star, phase);
  CHECK_EQ(times[3][0], 4.0);
  CHECK_EQ(times[2][1], 12.0);
  CHECK_EQ(times[1][0], 16.0);
}

TEST(operations_that_wait_for_each_other_are_named) {
  Star star(2, 100);
  const Written phase(
      {{receive_from(1, 10), after(send_to(1, 10), 0)}, {receive_from(0, 10), after(send_to(0, 10), 0)}});
  CHECK_THROWS_SAYING(RunError, "rank 0 waits forever to receive from rank 1", done(star, phase));
}

TEST(a_route_without_capacity_is_named) {
  Star star(2, 0);
  const Written phase(
      {{send_to(1, 10), after(send_to(1, 10), 0)}, {receive_from(0, 10), receive_from(0, 10)}});
  CHECK_THROWS_SAYING(RunError, "waits forever to send to rank 1", done(star, phase));
}

TEST(a_pattern_that_breaks_its_promises_is_reported) {
  Star star(2, 100);
  CHECK_THROWS_SAYING(RunError, "a send of rank 0", done(star, Written({{send_to(1, 10)}, {}})));
  CHECK_THROWS_SAYING(RunError, "a receive of rank 1", done(star, Written({{}, {receive_from(0, 10)}})));
  CHECK_THROWS_SAYING(RunError, "10 bytes", done(star, Written({{send_to(1, 10)}, {receive_from(0, 11)}})));
  CHECK_THROWS_SAYING(RunError, "not another rank", done(star, Written({{send_to(7, 10)}, {}})));
}

TEST(cancelling_ends_the_phase) {
  Star star(2, 100);
  const Written phase(
      {{send_to(1, 10), after(send_to(1, 10), 0)}, {receive_from(0, 10), receive_from(0, 10)}});
  PhaseSimulation simulation(star, {}, [] { return true; });
  CHECK_THROWS_SAYING(RunError, "interrupted", simulation.run(phase, 2));
}

TEST(equal_messages_that_start_together_need_one_solve_with_the_same_times) {
  int compared = 0;
  for (const auto* info : program::patterns()) {
    if (info->name == "pairs") continue;  // needs a list of pairs
    const auto pattern = make_pattern(info->name);
    for (const Rank ranks : {4, 16}) {
      if (!pattern->refuse(ranks).empty()) continue;
      Star star(ranks, 1e8, 3.3e8);
      star.latency = 1e-5;
      const std::int64_t bytes = 100'000;
      const auto extent = pattern->extent(ranks, bytes);
      for (std::int64_t index = 0; index < std::min<std::int64_t>(extent.phases, 20); ++index) {
        const auto phase = pattern->phase(ranks, bytes, index);
        PhaseSimulation once(star, {}, never), events(star, {}, never);
        events.use_events_always();
        once.run(*phase, ranks);
        events.run(*phase, ranks);
        CHECK(!events.needed_one_solve());
        if (!once.needed_one_solve()) continue;
        ++compared;
        for (std::size_t i = 0; i < once.times().done.size(); ++i) {
          CHECK(near(once.times().done[i] * 1e3, events.times().done[i] * 1e3));
          CHECK_EQ(once.times().posted[i], events.times().posted[i]);
        }
      }
    }
  }
  CHECK(compared > 50);
}

// Random traffic over random capacities: many routes through few capacities, some twice.
class Tangle final : public Paths {
 public:
  explicit Tangle(std::uint64_t seed) : made_(random_table(seed)), seed_(seed) {}
  std::span<const double> capacities() const override { return made_.capacities; }
  double path(const Route& route, std::vector<CapacityIndex>& uses) const override {
    auto random = random_stream(seed_, static_cast<std::uint64_t>(route.source),
                                static_cast<std::uint64_t>(route.destination));
    for (auto count = 1 + random.below(5); count > 0; --count)
      uses.push_back(static_cast<CapacityIndex>(random.below(made_.capacities.size())));
    return 0;
  }
  double send_overhead(Rank) const override { return overhead; }
  double receive_overhead(Rank) const override { return overhead; }
  double overhead = 0;

 private:
  RandomTable made_;
  std::uint64_t seed_;
};

TEST(one_solve_is_enough_over_any_capacities) {
  const Rank ranks = 24;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Tangle tangle(seed);
    tangle.overhead = seed % 2 == 0 ? 0 : 1e-6;
    std::vector<Rank> to;
    for (Rank rank = 0; rank < ranks; ++rank) to.push_back(rank);
    Random(seed).shuffle(to);
    std::vector<std::vector<Op>> ops(ranks);
    for (Rank rank = 0; rank < ranks; ++rank) {
      const auto peer = to[static_cast<std::size_t>(rank)];
      if (peer == rank) continue;
      ops[static_cast<std::size_t>(rank)].push_back(send_to(peer, 1'000'000));
      ops[static_cast<std::size_t>(peer)].push_back(receive_from(rank, 1'000'000));
    }
    const Written phase(ops);
    PhaseSimulation once(tangle, {}, never), events(tangle, {}, never);
    events.use_events_always();
    once.run(phase, ranks);
    events.run(phase, ranks);
    CHECK(once.needed_one_solve());
    for (std::size_t i = 0; i < once.times().done.size(); ++i) {
      const auto a = once.times().done[i], b = events.times().done[i];
      CHECK(std::abs(a - b) <= 1e-9 * b);
    }
  }
}

// Bytes are neither made nor lost: over a shared capacity that is always in use, time is bytes / rate.
TEST(a_capacity_in_use_all_the_time_passes_bytes_at_its_rate) {
  const Rank ranks = 16;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Star star(ranks, 1e9, 1e6);
    std::vector<std::vector<Op>> ops(ranks);
    double bytes = 0;
    for (Rank rank = 0; rank < ranks; ++rank) {
      const auto peer = (rank + 1) % ranks;
      for (int i = 0; i < 3; ++i) {
        const auto its = static_cast<std::int64_t>(1 + random.below(1'000'000));
        bytes += static_cast<double>(its);
        ops[static_cast<std::size_t>(rank)].push_back(send_to(peer, its));
        ops[static_cast<std::size_t>(peer)].push_back(receive_from(rank, its));
      }
    }
    double last = 0;
    for (const auto& rank : done(star, Written(ops)))
      for (const auto seconds : rank) last = std::max(last, seconds);
    CHECK(near(last, bytes / 1e6));
  }
}

TEST(a_knee_lowers_the_rate_if_link_and_share_are_close) {
  const auto seconds = [](Rank pairs, double shared) {
    Star star(2 * pairs, 100, shared);
    std::vector<std::vector<Op>> ops(static_cast<std::size_t>(2 * pairs));
    for (Rank rank = 0; rank < pairs; ++rank) {
      ops[static_cast<std::size_t>(rank)].push_back(send_to(rank + pairs, 1000));
      ops[static_cast<std::size_t>(rank + pairs)].push_back(receive_from(rank, 1000));
    }
    return done(star, Written(ops), 0, Knee(6)).back()[0];
  };
  CHECK_EQ(seconds(1, 100), 10.0);  // nothing is shared
  CHECK(near(seconds(4, 400), 10.0 * std::pow(2, 1.0 / 6)));
  CHECK(near(seconds(4, 4000), 10.0 * std::pow(1 + 1e-6, 1.0 / 6)));
  CHECK(near(seconds(4, 4), 1000.0 * std::pow(1 + 1e-12, 1.0 / 6)));
}

TEST(with_a_knee_a_remaining_flow_has_its_full_link_again) {
  Star star(3, 100);
  const Written phase(
      {{send_to(2, 1000)}, {send_to(2, 3000)}, {receive_from(0, 1000), receive_from(1, 3000)}});
  // While they share the link into rank 2, each gets half of 100, lowered by the link out; then 100.
  const auto half = Knee(6).rate(100, 50);
  const auto first = 1000 / half;
  const auto times = done(star, phase, 0, Knee(6));
  CHECK(near(times[2][0], first));
  CHECK(near(times[2][1], first + 2000.0 / 100));
}

TEST(the_scale_of_a_knee_applies_only_to_crowded_capacities) {
  const Knee plain(10), scaled(10, 0.985);
  CHECK(near(scaled.rate(1000, 1), 0.985));
  CHECK(near(scaled.rate(1, 1000), 1.0));
  CHECK_EQ(scaled.rate(5, std::numeric_limits<double>::infinity()), 5);
  CHECK_EQ(Knee(0, 0.5).rate(4, 3), 3);  // without a knee the scale does not apply
  for (const double share : {0.3, 1.0, 2.0}) CHECK(scaled.rate(1, share) < plain.rate(1, share));
  Star star(4, 100, 100);
  const Written phase(
      {{send_to(2, 1000)}, {send_to(3, 1000)}, {receive_from(0, 1000)}, {receive_from(1, 1000)}});
  CHECK(near(done(star, phase, 0, scaled)[2][0], 1000 / scaled.rate(100, 50)));
}

TEST(a_knee_lies_below_both_its_bounds) {
  const Knee knee(6);
  for (const double link : {1e-3, 1.0, 7e9})
    for (const double share : {1e-9, 0.5, 1e9, 1e30}) {
      CHECK(knee.rate(link, share) <= std::min(link, share));
      CHECK(knee.rate(link, share) >= std::min(link, share) * std::pow(2, -1.0 / 6) * (1 - 1e-12));
      CHECK_EQ(Knee().rate(link, share), std::min(link, share));
    }
  CHECK_EQ(knee.rate(5, std::numeric_limits<double>::infinity()), 5);
}

TEST(uneven_shares_end_apart_but_fill_the_capacity_to_the_last_byte) {
  Star star(12, 100, 300);
  std::vector<std::vector<Op>> ops(12);
  for (Rank rank = 0; rank < 6; ++rank) {
    ops[static_cast<std::size_t>(rank)] = {send_to(rank + 6, 1000)};
    ops[static_cast<std::size_t>(rank) + 6] = {receive_from(rank, 1000)};
  }
  const Written phase(ops);
  const auto ends = [&](double variation, std::uint64_t seed, std::int64_t index) {
    PhaseSimulation simulation(star, {.eager_bytes = 0, .knee = {}, .spread = ShareSpread(variation, seed)},
                               never);
    simulation.run(phase, 12, index);
    auto done = simulation.times().done;
    std::sort(done.begin(), done.end());
    return done;
  };
  CHECK(near(ends(0, 1, 0).front(), 20) && near(ends(0, 1, 0).back(), 20));
  const auto uneven = ends(0.3, 1, 0);
  CHECK(uneven.front() < 19 && uneven.back() > 20);
  // Not before all bytes at the full rate, and not after the last one continuing alone from there.
  CHECK(uneven.back() <= 30);
  CHECK_EQ(uneven, ends(0.3, 1, 0));
  CHECK(uneven != ends(0.3, 2, 0) && uneven != ends(0.3, 1, 1));
}

TEST(shares_vary_as_much_as_requested) {
  for (const double variation : {0.1, 0.3, 1.0}) {
    const ShareSpread spread(variation, 5);
    double sum = 0, squares = 0;
    constexpr int draws = 100'000;
    for (int i = 0; i < draws; ++i) {
      const auto weight = spread.weight(i / 1000, i % 1000, i % 7, 0);
      sum += weight, squares += weight * weight;
    }
    const auto mean = sum / draws;
    const auto found = std::sqrt(squares / draws - mean * mean) / mean;
    CHECK(std::abs(found / variation - 1) < 0.05);
  }
}
