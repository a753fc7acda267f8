// Promises of the patterns with roles, streams, chains and load; and NetPIPE's sizes.
#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/random.hpp"
#include "tests/check.hpp"
#include "tests/pattern_cases.hpp"

using namespace crosscut;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

std::int64_t received_bytes(const std::vector<Op>& ops) {
  std::int64_t bytes = 0;
  for (const Op& op : ops) bytes += op.kind == Op::Kind::receive ? op.bytes : 0;
  return bytes;
}

std::vector<Op> timed_ops(std::vector<Op> ops) {
  std::erase_if(ops, [](const Op& op) { return op.slot < 0; });
  return ops;
}

// Rehearses one phase in random order. Returns the largest number of messages with bytes under way at once: a
// send counts from posting until it is matched.
int most_at_once(const Pattern& pattern, Rank ranks, std::int64_t phase, std::uint64_t seed) {
  struct State {
    Op op;
    bool posted = false, done = false;
  };
  std::vector<std::vector<State>> all(static_cast<std::size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank)
    for (const Op& op : program_of(pattern, rank, ranks, phase))
      all[static_cast<std::size_t>(rank)].push_back({op});
  Random random(seed);
  const auto done = [](const std::vector<State>& states, OpIndex index) {
    return index < 0 || states[static_cast<std::size_t>(index)].done;
  };
  int under_way = 0, most = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    const auto rank = static_cast<std::size_t>(random.below(all.size()));
    if (all[rank].empty()) continue;
    State& state = all[rank][static_cast<std::size_t>(random.below(all[rank].size()))];
    if (state.posted || !done(all[rank], state.op.after[0]) || !done(all[rank], state.op.after[1])) continue;
    state.posted = true;
    const bool sends = state.op.kind == Op::Kind::send;
    if (sends && state.op.bytes > 0) most = std::max(most, ++under_way);
    for (State& other : all[static_cast<std::size_t>(state.op.peer)]) {
      if (!other.posted || other.done || other.op.kind == state.op.kind ||
          other.op.peer != static_cast<Rank>(rank) || other.op.channel != state.op.channel)
        continue;
      state.done = other.done = true;
      if (state.op.bytes > 0) --under_way;
      break;
    }
  }
  for (const auto& states : all)
    for (const State& state : states) CHECK(state.done);
  return most;
}

}  // namespace

TEST(pingpong_sweeps_netpipes_sizes) {
  const std::vector<std::int64_t> sizes = make_pattern("pingpong")->default_sizes();
  // The first lines of a NetPIPE 3 output.
  const std::vector<std::int64_t> first = {1,  2,  3,  4,  6,  8,  12, 13, 16, 19, 21, 24,
                                           27, 29, 32, 35, 45, 48, 51, 61, 64, 67, 93, 96};
  REQUIRE(sizes.size() > first.size());
  CHECK_EQ(std::vector(sizes.begin(), sizes.begin() + std::ssize(first)), first);
  CHECK_EQ(sizes.back(), (4 << 20) + 3);
  const std::vector<std::int64_t> bare =
      make_pattern("pingpong", {{"perturbation", "0"}, {"maximum", "20"}})->default_sizes();
  CHECK_EQ(bare, (std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 12, 16}));
}

TEST(pingpong_times_half_a_round_trip_of_one_pair_at_a_time) {
  const auto pattern = make_pattern("pingpong", {{"pairs", "all"}});
  CHECK_EQ(pattern->extent(9, 1).phases, 36);
  std::multiset<RankPair> all;
  for (std::int64_t index = 0; index < 36; ++index) {
    const std::multiset<RankPair> one = timed(*pattern, 9, index);
    CHECK_EQ(one.size(), 1);
    all.insert(one.begin(), one.end());
  }
  CHECK_EQ(std::set<RankPair>(all.begin(), all.end()).size(), 36);
  const std::vector<Op> ops = program_of(*pattern, 0, 9, 0);
  REQUIRE(ops.size() == 2);
  CHECK_EQ(ops[1].divisor, 2.0);
  CHECK_EQ(ops[1].since, 0);
  CHECK(make_pattern("pingpong", {{"pairs", "all"}})->refuse(200).find("all-pairs") != std::string::npos);
  std::string many = "0-1";
  for (int i = 0; i < 10'000; ++i)
    many += "," + std::to_string(i / 100) + "-" + std::to_string(100 + i % 100);
  CHECK(make_pattern("pingpong", {{"pairs", many}})->refuse(200).starts_with("--pairs makes 10001 phases"));
  CHECK(make_pattern("pingpong")->refuse(1).find("names rank 1") != std::string::npos);
  CHECK_THROWS_SAYING(UsageError, "or write all", make_pattern("pingpong", {{"pairs", "everybody"}}));
}

TEST(a_stream_is_timed_a_message_at_a_time) {
  const auto pattern = make_pattern("pingpong", {{"mode", "stream"}, {"count", "10"}});
  const std::vector<Op> sample = timed_ops(program_of(*pattern, 0, 2, 0));
  REQUIRE(sample.size() == 1);
  CHECK_EQ(sample[0].divisor, 10.0);
  CHECK_EQ(sample[0].sample_bytes, 1000);
  CHECK_EQ(received_bytes(program_of(*pattern, 1, 2, 0)), 10'000);
  CHECK_EQ(received_bytes(program_of(*pattern, 0, 2, 0)), 0);
}

TEST(serial_all_pairs_never_has_two_messages_under_way) {
  for (const char* mode : {"pingpong", "transfer"}) {
    const auto pattern = make_pattern("all-pairs", {{"mode", mode}});
    for (const Rank ranks : {2, 5, 8})
      for (std::int64_t index = 0; index + 1 < ranks; ++index)
        for (const std::uint64_t seed : {1, 2, 3}) CHECK_EQ(most_at_once(*pattern, ranks, index, seed), 1);
  }
  // The rehearsal counts more if there is more.
  int most = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    most = std::max(most, most_at_once(*make_pattern("aapc"), 5, 0, seed));
  CHECK(most > 1);
}

TEST(streams_go_to_receiver_s_modulo_m) {
  // Kurmann et al., figure 7: 16 senders with 4 streams each, one stream per receiver.
  const auto figure7 = make_pattern("streams", {{"senders", "16"}, {"streams", "4"}, {"receivers", "64"}});
  for (Rank receiver = 0; receiver < 64; ++receiver) {
    const std::vector<Op> ops = program_of(*figure7, receiver, 80, 0);
    REQUIRE(ops.size() == 1);
    CHECK_EQ(ops[0].peer, 64 + receiver / 4);
  }
  // Incast: one receiver, all others send; two streams of one sender are two channels.
  const auto incast = make_pattern("streams", {{"streams", "2"}});
  CHECK_EQ(routes(*incast, 9, 0).size(), 16);
  CHECK_EQ(received_bytes(program_of(*incast, 0, 9, 0)), 16'000);
  CHECK_EQ(incast->phase(9, 1000, 0)->credited_bytes(0), 16'000.0);
  const std::vector<Op> sender = program_of(*incast, 5, 9, 0);
  REQUIRE(sender.size() == 2);
  CHECK(sender[0].peer == 0 && sender[1].peer == 0 && sender[0].channel != sender[1].channel);
}

TEST(streams_sweep_every_combination) {
  const auto pattern = make_pattern(
      "streams", {{"senders", "1,2,4"}, {"streams", "1,3"}, {"receivers", "1-4"}, {"direction", "all"}});
  CHECK_EQ(pattern->extent(8, 1).phases, 72);
  std::set<std::string> labels;
  for (std::int64_t index = 0; index < 72; ++index) labels.insert(pattern->phase(8, 1, index)->label());
  CHECK_EQ(labels.size(), 72);
  CHECK(labels.contains("4 senders x 3 streams, 2 receivers, both ways"));
  CHECK(pattern->refuse(7).find("more than 7 ranks") != std::string::npos);
  CHECK_EQ(pattern->refuse(8), "");
  CHECK_THROWS_SAYING(UsageError, "1 or more", make_pattern("streams", {{"streams", "0"}}));
  CHECK(!make_pattern("streams", {{"streams", "256"}})->refuse(8).empty());
  CHECK(!make_pattern("streams", {{"streams", "200"}})->refuse(100'000).empty());
}

TEST(streams_count_a_phase_for_each_direction_that_is_asked_for) {
  const auto some_of = [](std::string_view direction) {
    return make_pattern("streams",
                        {{"senders", "1-4000"}, {"receivers", "1,2"}, {"direction", std::string(direction)}});
  };
  CHECK_EQ(some_of("in")->refuse(4002), "");
  CHECK_EQ(some_of("out")->refuse(4002), "");
  CHECK_THROWS_SAYING(UsageError, "more than 10000 phases", some_of("all"));
}

TEST(receivers_may_be_named_and_both_ways_doubles_the_messages) {
  const auto out = make_pattern("streams", {{"receiver-ranks", "5,2"}, {"direction", "out"}});
  CHECK(routes(*out, 6, 0) == (std::multiset<RankPair>{{5, 0}, {2, 1}, {5, 3}, {2, 4}}));
  const auto both = make_pattern("streams", {{"receiver-ranks", "5,2"}, {"direction", "both"}});
  CHECK_EQ(routes(*both, 6, 0).size(), 8);
  CHECK(out->refuse(5).find("names rank 5") != std::string::npos);
  CHECK(!make_pattern("streams", {{"receiver-ranks", "5,2"}, {"receivers", "3"}})->refuse(8).empty());
}

TEST(the_chain_brings_all_bytes_to_every_rank_and_forwards_as_it_goes) {
  const auto pattern = make_pattern("chain", {{"segment", "64"}, {"order", "3,1,0,2"}});
  const std::vector<Op> head = program_of(*pattern, 3, 5, 0), middle = program_of(*pattern, 1, 5, 0);
  CHECK_EQ(head.size(), 16);
  CHECK_EQ(received_bytes(head), 0);
  CHECK(program_of(*pattern, 4, 5, 0).empty());
  for (const Rank rank : {1, 0, 2}) {
    const std::vector<Op> ops = program_of(*pattern, rank, 5, 0);
    CHECK_EQ(received_bytes(ops), 1000);
    const std::vector<Op> sample = timed_ops(ops);
    REQUIRE(sample.size() == 1);
    CHECK_EQ(sample[0].sample_bytes, 1000);
    CHECK_EQ(sample[0].origin, 3);
  }
  // A segment is forwarded without waiting for the next: no forward comes after a later receive.
  for (const Op& op : middle) {
    if (op.kind != Op::Kind::send) continue;
    CHECK_EQ(op.peer, 0);
    CHECK_EQ(std::max(op.after[0], op.after[1]), op.forwards);
  }
}

TEST(the_chain_stripes_over_rails_and_bounds_its_program) {
  const auto pattern = make_pattern("chain", {{"segment", "64"}, {"rails", "3"}});
  std::int64_t bytes = 0;
  std::set<int> rails;
  for (const Op& op : timed_ops(program_of(*pattern, 2, 4, 0))) bytes += op.sample_bytes;
  for (const Op& op : program_of(*pattern, 2, 4, 0)) rails.insert(op.rail);
  CHECK_EQ(bytes, 1000);
  CHECK_EQ(rails, (std::set<int>{0, 1, 2}));
  CHECK_THROWS_SAYING(UsageError, "larger --segment",
                      make_pattern("chain", {{"segment", "1"}})->extent(4, 1'000'000'000));
}

TEST(each_length_of_a_chain_is_a_phase_of_its_first_ranks) {
  const auto pattern = make_pattern("chain", {{"order", "3,1,0,2"}, {"lengths", "4,2,3"}});
  CHECK_EQ(pattern->extent(5, 1000).phases, 3);
  CHECK(routes(*pattern, 5, 0) == (std::multiset<RankPair>{{3, 1}, {1, 0}, {0, 2}}));
  CHECK(routes(*pattern, 5, 1) == (std::multiset<RankPair>{{3, 1}}));
  CHECK(routes(*pattern, 5, 2) == (std::multiset<RankPair>{{3, 1}, {1, 0}}));
  CHECK_EQ(pattern->phase(5, 1000, 1)->label(), "2 ranks");
  CHECK_EQ(pattern->phase(5, 1000, 1)->credited_bytes(0), 0);
  CHECK_EQ(pattern->refuse(5), "");
  CHECK(make_pattern("chain", {{"lengths", "2,6"}})->refuse(5).find("but there are 5 ranks") !=
        std::string::npos);
  CHECK(make_pattern("chain", {{"lengths", "3"}, {"order", "0,1"}})->refuse(5).find("2 ranks in --order") !=
        std::string::npos);
  CHECK(make_pattern("chain", {{"lengths", "1"}})->refuse(5).find("needs two ranks") != std::string::npos);
}

TEST(loaded_pingpong_keeps_salmons_nine_thousand_messages) {
  const auto pattern = make_pattern("loaded-pingpong");
  std::size_t samples = 0;
  std::set<Rank> partners;
  std::set<std::int64_t> sizes;
  for (Rank rank = 0; rank < 36; ++rank) {
    const std::vector<Op> ops = timed_ops(program_of(*pattern, rank, 36, 0, 65'536));
    samples += ops.size();
    for (const Op& op : ops) {
      CHECK(op.bytes >= 1 && op.bytes <= 65'536 && op.divisor == 2.0);
      if (rank == 0) partners.insert(op.peer), sizes.insert(op.bytes);
    }
  }
  CHECK_EQ(samples, 9000);
  CHECK(partners.size() > 30);
  CHECK(*sizes.begin() < 64 && *sizes.rbegin() > 16'384 && sizes.size() > 100);
}

TEST(loaded_pingpong_keeps_to_groups_and_lists) {
  const auto group = [](Rank rank) { return rank < 3 ? 0 : rank < 7 ? 1 : 2; };
  const std::string groups = "0-2/3-6/7-11";
  const auto within = make_pattern("loaded-pingpong", {{"partners", "within"}, {"groups", groups}});
  const auto across = make_pattern("loaded-pingpong", {{"partners", "across"}, {"groups", groups}});
  for (Rank rank = 0; rank < 12; ++rank) {
    std::set<Rank> met_within, met_across;
    for (const Op& op : program_of(*within, rank, 13, 0)) met_within.insert(op.peer);
    for (const Op& op : program_of(*across, rank, 13, 0)) met_across.insert(op.peer);
    for (const Rank peer : met_within) CHECK_EQ(group(peer), group(rank));
    for (const Rank peer : met_across) CHECK(group(peer) != group(rank));
    CHECK(met_within.size() >= 2 && met_across.size() >= 7);
  }
  CHECK(program_of(*within, 12, 13, 0).empty() && program_of(*across, 12, 13, 0).empty());
  CHECK(within->refuse(11).find("--groups names rank 11") != std::string::npos);
  const auto given =
      make_pattern("loaded-pingpong", {{"partners", "pairs"}, {"pairs", "0-5"}, {"mix", "8,64"}});
  for (const Op& op : program_of(*given, 5, 6, 0)) CHECK(op.peer == 0 && (op.bytes == 8 || op.bytes == 64));
  CHECK_EQ(given->default_sizes(), (std::vector<std::int64_t>{64}));
}

TEST(loaded_pingpong_says_what_is_missing) {
  CHECK_THROWS_SAYING(UsageError, "needs --groups",
                      make_pattern("loaded-pingpong", {{"partners", "across"}}));
  CHECK_THROWS_SAYING(UsageError, "needs --pairs", make_pattern("loaded-pingpong", {{"partners", "pairs"}}));
  CHECK_THROWS_SAYING(UsageError, "rank 3 twice",
                      make_pattern("loaded-pingpong", {{"partners", "within"}, {"groups", "0-3/3-5"}}));
  CHECK_THROWS_SAYING(UsageError, "two groups",
                      make_pattern("loaded-pingpong", {{"partners", "across"}, {"groups", "0-3"}}));
  CHECK_THROWS_SAYING(UsageError, "0-3/4-7",
                      make_pattern("loaded-pingpong", {{"partners", "within"}, {"groups", "0-3/"}}));
  CHECK_THROWS_SAYING(UsageError, "more than the message size",
                      make_pattern("loaded-pingpong", {{"mix", "2KB"}})->extent(8, 1000));
}

TEST(congestor_measures_alone_first_and_then_with_everybody_else_busy) {
  const auto pattern = make_pattern("congestor", {{"pings", "10"}, {"messages", "5"}, {"load", "1MB"}});
  CHECK_EQ(pattern->extent(32, 1000).phases, 4);
  std::set<Rank> measuring;
  for (Rank rank = 0; rank < 32; ++rank)
    if (!program_of(*pattern, rank, 32, 0).empty()) measuring.insert(rank);
  CHECK_EQ(measuring.size(), 6);  // 20 %, an even number
  CHECK_EQ(pattern->phase(32, 1, 0)->label(), "idle");
  for (std::int64_t index = 1; index < 4; ++index) {
    std::size_t busy = 0;
    for (Rank rank = 0; rank < 32; ++rank) {
      const std::vector<Op> ops = program_of(*pattern, rank, 32, index);
      busy += ops.empty() ? 0 : 1;
      // The victims' programs are the same as alone: only the network's load changes.
      if (!measuring.contains(rank)) {
        for (const Op& op : ops) CHECK(!measuring.contains(op.peer));
        continue;
      }
      CHECK_EQ(ops.size(), program_of(*pattern, rank, 32, 0).size());
      const std::size_t samples = timed_ops(ops).size();
      CHECK(samples == 15 || samples == 5);
    }
    CHECK_EQ(busy, 32);
  }
}

TEST(congestors_send_their_load_and_time_its_end) {
  const auto pattern = make_pattern("congestor", {{"victims", "0,1"}, {"load", "1MB"}, {"chunk", "100KB"}});
  for (std::int64_t index = 1; index < 4; ++index) {
    std::int64_t sources = 0;
    for (Rank rank = 2; rank < 10; ++rank) {
      std::int64_t sent = 0;
      for (const Op& op : program_of(*pattern, rank, 10, index))
        sent += op.kind == Op::Kind::send ? op.bytes : 0;
      CHECK(sent == 0 || sent == 1'000'000);
      const std::vector<Op> sample = timed_ops(program_of(*pattern, rank, 10, index));
      CHECK_EQ(sample.size(), sent > 0 ? 1u : 0u);
      for (const Op& op : sample) CHECK_EQ(op.sample_bytes, 1'000'000);
      sources += sent > 0 ? 1 : 0;
    }
    CHECK_EQ(sources, std::vector<std::int64_t>({7, 8, 4})[static_cast<std::size_t>(index) - 1]);
  }
  CHECK(make_pattern("congestor", {{"load", "1TB"}})->refuse(8).find("larger --chunk") != std::string::npos);
  CHECK(!pattern->refuse(3).empty());
  CHECK(!make_pattern("congestor", {{"victims", "0-6"}})->refuse(8).empty());
  CHECK(!make_pattern("congestor", {{"victims", "4"}})->refuse(8).empty());
}

TEST(congestors_run_collective_operations_until_they_carried_their_load) {
  const auto pattern = make_pattern("congestor", {{"victims", "0,1"},
                                                  {"load", "1MB"},
                                                  {"chunk", "10KB"},
                                                  {"congest-by", "broadcast,all-reduce,incast"}});
  CHECK_EQ(pattern->extent(10, 1000).phases, 4);
  CHECK_EQ(pattern->phase(10, 1000, 1)->label(), "broadcast");
  CHECK_EQ(pattern->phase(10, 1000, 3)->label(), "incast");
  for (const std::int64_t index : {1, 2}) {
    std::int64_t sent = 0;
    for (Rank rank = 2; rank < 10; ++rank) {
      const std::vector<Op> ops = program_of(*pattern, rank, 10, index);
      for (const Op& op : ops) sent += op.kind == Op::Kind::send ? op.bytes : 0;
      const std::vector<Op> timed = timed_ops(ops);
      CHECK_EQ(timed.size(), 1u);
      for (const Op& op : timed) CHECK(op.slot == 0 && op.since == phase_start);
    }
    // The rates of collectives count the load that each link carries: here within a vector of 80 KB.
    CHECK(sent > 8 * 900'000 && sent < 8 * 1'900'000);
  }
  for (const char* wrong : {"incest", "barrier", "incast,incast", ",", ""})
    CHECK_THROWS_SAYING(UsageError, "--congest-by", make_pattern("congestor", {{"congest-by", wrong}}));
}

TEST(victims_that_measure_together_time_each_operation_from_its_start) {
  for (const char* operation : {"reduce-scatter", "all-gather", "all-to-all", "all-to-all-v", "barrier"}) {
    const auto pattern = make_pattern(
        "congestor", {{"victims", "0,2,5"}, {"measure", operation}, {"pings", "3"}, {"messages", "2"}});
    for (const Rank rank : {0, 2, 5}) CHECK_EQ(timed_ops(program_of(*pattern, rank, 10, 1)).size(), 5u);
  }
}

TEST(operations_with_too_many_messages_are_refused_and_short_ones_are_not) {
  const auto refuse = [](const char* operation, Rank ranks) {
    return make_pattern("congestor", {{"measure", operation}, {"congest-by", "all-reduce"}})->refuse(ranks);
  };
  CHECK_EQ(refuse("all-reduce", 200'000), "");
  CHECK(refuse("all-to-all-v", 200'000).find("--pings and --messages") != std::string::npos);
}

TEST(a_collective_of_every_nth_rank_leaves_the_others_idle) {
  const auto pattern = make_pattern("collective", {{"operation", "all-gather"}, {"every", "4,2,1"}});
  CHECK_EQ(pattern->extent(8, 1000).phases, 6);
  CHECK_EQ(pattern->phase(8, 1000, 0)->label(), "ring, every 4th rank");
  CHECK_EQ(pattern->phase(8, 1000, 3)->label(), "Bruck, every 2nd rank");
  CHECK_EQ(pattern->phase(8, 1000, 4)->label(), "ring, all ranks");
  for (Rank rank = 0; rank < 8; ++rank) {
    CHECK_EQ(program_of(*pattern, rank, 8, 0).empty(), rank % 4 != 0);
    CHECK_EQ(pattern->phase(8, 1000, 2)->credited_bytes(rank), rank % 2 == 0 ? 750 : 0);
  }
  for (const Op& op : program_of(*pattern, 4, 8, 0)) CHECK_EQ(op.peer, 0);
  CHECK(make_pattern("collective", {{"every", "8"}})->refuse(8).find("--every 8") != std::string::npos);
  CHECK(make_pattern("collective", {{"every", "7"}})->refuse(8).empty());
  CHECK_THROWS_SAYING(UsageError, "--every", make_pattern("collective", {{"every", "0"}}));
}

TEST(victims_that_reduce_together_time_each_all_reduce_from_its_start) {
  for (const char* victims : {"0,5", "0,5,7", "0,2,5,7", "0,1,2,3,5"}) {
    const auto pattern = make_pattern(
        "congestor", {{"victims", victims}, {"measure", "all-reduce"}, {"pings", "3"}, {"messages", "2"}});
    for (std::int64_t index = 0; index < 4; ++index) {
      for (const Rank rank : {0, 5}) {
        const std::vector<Op> ops = program_of(*pattern, rank, 10, index);
        const std::vector<Op> timed = timed_ops(ops);
        REQUIRE(timed.size() == 5);
        std::set<OpIndex> starts;
        for (std::size_t i = 0; i < timed.size(); ++i) {
          CHECK_EQ(timed[i].slot, static_cast<std::int32_t>(i));
          CHECK_EQ(timed[i].counted_bytes(), i < 3 ? 8 : 1000);
          CHECK(starts.insert(timed[i].since).second);
        }
        for (const Op& op : ops)
          CHECK(std::string_view(victims).find(std::to_string(op.peer)) != std::string_view::npos);
      }
    }
  }
}
