// The coverage that each dense pattern promises, and examples printed in the papers.
#include <numeric>

#include "base/error.hpp"
#include "tests/check.hpp"
#include "tests/pattern_cases.hpp"

using namespace crosscut;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

std::vector<Rank> counts() {
  std::vector<Rank> all;
  for (Rank ranks = 2; ranks <= 33; ++ranks) all.push_back(ranks);
  all.insert(all.end(), {64, 100, 257});
  return all;
}

std::multiset<RankPair> every_route(Rank ranks) {
  std::multiset<RankPair> all;
  for (Rank a = 0; a < ranks; ++a)
    for (Rank b = 0; b < ranks; ++b)
      if (a != b) all.emplace(a, b);
  return all;
}

std::multiset<RankPair> all_routes(const Pattern& pattern, Rank ranks) {
  std::multiset<RankPair> all;
  for (std::int64_t index = 0; index < pattern.extent(ranks, 1000).phases; ++index)
    all.merge(routes(pattern, ranks, index));
  return all;
}

bool disjoint(const std::set<RankPair>& pairs) {
  std::set<Rank> seen;
  for (const auto& [a, b] : pairs)
    if (!seen.insert(a).second || !seen.insert(b).second) return false;
  return true;
}

// (1,25)(2,26)..(24,48), from 1 as in Kurmann et al.
std::set<RankPair> counted_from_one(Rank first_from, Rank first_to, Rank step, int pairs) {
  std::set<RankPair> result;
  for (int i = 0; i < pairs; ++i) result.emplace(first_from - 1 + i * step, first_to - 1 + i * step);
  return result;
}

double credited(std::string_view name, Rank rank, Rank ranks) {
  return make_pattern(name)->phase(ranks, 1000, 0)->credited_bytes(rank);
}

}  // namespace

TEST(aapc_sends_over_every_route_once_and_each_phase_is_a_permutation) {
  const auto pattern = make_pattern("aapc");
  for (const Rank ranks : counts()) {
    CHECK_EQ(pattern->extent(ranks, 1).phases, ranks - 1);
    CHECK(all_routes(*pattern, ranks) == every_route(ranks));
    for (const std::int64_t index : {std::int64_t{0}, std::int64_t{ranks - 2}}) {
      std::set<Rank> sources, destinations;
      for (const auto& [source, destination] : routes(*pattern, ranks, index)) {
        sources.insert(source), destinations.insert(destination);
        CHECK_EQ((destination - source + ranks) % ranks, index + 1);
      }
      CHECK(std::ssize(sources) == ranks && std::ssize(destinations) == ranks);
    }
  }
}

TEST(aapc_burst_sends_over_every_route_in_one_phase) {
  for (const Rank ranks : counts()) {
    CHECK_EQ(make_pattern("aapc-burst")->extent(ranks, 1).phases, 1);
    CHECK(all_routes(*make_pattern("aapc-burst"), ranks) == every_route(ranks));
  }
}

TEST(simple_pairwise_meets_every_rank_and_the_middle_partner_twice) {
  const auto pattern = make_pattern("simple-pairwise");
  for (const Rank ranks : counts()) {
    std::multiset<RankPair> expected = every_route(ranks);
    for (Rank rank = 0; ranks % 2 == 0 && rank < ranks; ++rank)
      expected.emplace(rank, (rank + ranks / 2) % ranks);
    CHECK_EQ(pattern->extent(ranks, 1).phases, ranks / 2);
    CHECK(all_routes(*pattern, ranks) == expected);
  }
  // Fatoohi et al.: "in the middle phase" both partners are the same rank.
  const std::vector<Op> middle = program_of(*pattern, 1, 8, 3);
  CHECK_EQ(middle.size(), 4);
  for (const Op& op : middle) CHECK_EQ(op.peer, 5);
}

TEST(cumulative_pairwise_adds_a_pair_each_phase) {
  for (const Rank ranks : counts()) {
    const auto pattern = make_pattern("cumulative-pairwise");
    CHECK_EQ(pattern->extent(ranks, 1).phases, ranks / 2);
    for (const std::int64_t index : {0, ranks / 2 - 1})
      CHECK(pairs_of(*pattern, ranks, index) == counted_from_one(1, 2, 2, static_cast<int>(index) + 1));
  }
}

TEST(random_pairwise_draws_new_pairs_each_phase_of_all_but_an_odd_rank) {
  const auto pattern = make_pattern("random-pairwise");
  for (const Rank ranks : counts()) {
    for (std::int64_t index = 0; index < 10; ++index) {
      const std::set<RankPair> pairs = pairs_of(*pattern, ranks, index);
      CHECK(std::ssize(pairs) == ranks / 2 && disjoint(pairs));
    }
  }
  CHECK(pairs_of(*pattern, 64, 0) != pairs_of(*pattern, 64, 1));
  CHECK(pairs_of(*pattern, 64, 0) != pairs_of(*make_pattern("random-pairwise", {{"seed", "2"}}), 64, 0));
  CHECK_EQ(make_pattern("random-pairwise", {{"random-phases", "1234"}})->extent(8, 1).phases, 1234);
  CHECK(pattern->phase(9, 1, 0)->label().starts_with("idle: "));
  // With more phases than can be examined, every rank may be a partner.
  CHECK_EQ(make_pattern("random-pairwise", {{"random-phases", "1000000000"}})->peers(3, 9).size(), 8);
}

TEST(random_pairwise_draws_every_pair_about_as_often) {
  const auto pattern = make_pattern("random-pairwise", {{"random-phases", "7000"}});
  std::map<RankPair, int> seen;
  for (std::int64_t index = 0; index < 7000; ++index)
    for (const RankPair& pair : pairs_of(*pattern, 8, index)) ++seen[pair];
  CHECK_EQ(seen.size(), 28);
  // 1000 are expected of each; 160 are more than 5 standard deviations (29.3).
  for (const auto& [pair, times] : seen) CHECK(times > 840 && times < 1160);
}

TEST(pairwise_takes_every_other_edge_of_each_cycle) {
  for (const Rank ranks : counts()) {
    const auto pattern = make_pattern("pairwise", {{"stride", "1-" + std::to_string(ranks - 1)}});
    for (Rank stride = 1; stride < ranks; ++stride) {
      std::set<RankPair> expected;
      for (Rank lowest = 0; lowest < std::gcd(ranks, stride); ++lowest) {
        std::vector<Rank> cycle{lowest};
        for (Rank next = (lowest + stride) % ranks; next != lowest; next = (next + stride) % ranks)
          cycle.push_back(next);
        for (std::size_t i = 0; i + 1 < cycle.size(); i += 2)
          expected.emplace(std::min(cycle[i], cycle[i + 1]), std::max(cycle[i], cycle[i + 1]));
      }
      CHECK(pairs_of(*pattern, ranks, stride - 1) == expected);
      if (ranks > 33 && stride > 40) break;
    }
  }
}

TEST(pairwise_makes_the_pairs_of_kurmanns_tables) {
  // Table 3 and 5: (1,2)(3,4)..(23,24); (1,25)(2,26)..(24,48); (1,49)(2,50)..(48,96).
  CHECK(pairs_of(*make_pattern("pairwise", {{"stride", "1"}}), 24, 0) == counted_from_one(1, 2, 2, 12));
  CHECK(pairs_of(*make_pattern("pairwise", {{"stride", "24"}}), 48, 0) == counted_from_one(1, 25, 1, 24));
  CHECK(pairs_of(*make_pattern("pairwise", {{"stride", "48"}}), 96, 0) == counted_from_one(1, 49, 1, 48));
}

TEST(pairwise_names_the_idle_ranks) {
  const auto pattern = make_pattern("pairwise");
  CHECK_EQ(pattern->extent(9, 1).phases, 4);
  CHECK_EQ(pattern->phase(9, 1, 0)->label(), "stride 1, idle: 8");
  CHECK_EQ(pattern->phase(9, 1, 2)->label(), "stride 3, idle: 6, 7, 8");
  CHECK_EQ(pattern->phase(8, 1, 1)->label(), "stride 2");
  CHECK(program_of(*pattern, 8, 9, 0).empty());
  CHECK(make_pattern("pairwise", {{"stride", "8"}})->refuse(8).find("1 to 7") != std::string::npos);
  CHECK(!make_pattern("pairwise", {{"stride", "0"}})->refuse(8).empty());
}

TEST(pairs_exchange_as_listed) {
  const auto pattern = make_pattern("pairs", {{"pairs", "0..23-24..47"}});
  CHECK(pairs_of(*pattern, 48, 0) == counted_from_one(1, 25, 1, 24));
  CHECK(pattern->refuse(47).find("names rank 47, but there are 47") != std::string::npos);
  CHECK_EQ(pattern->refuse(48), "");
  const auto growing = make_pattern("pairs", {{"pairs", "0-5,1-4"}, {"cumulative", "true"}});
  CHECK(pairs_of(*growing, 6, 0) == (std::set<RankPair>{{0, 5}}));
  CHECK(pairs_of(*growing, 6, 1) == (std::set<RankPair>{{0, 5}, {1, 4}}));
  CHECK_THROWS_SAYING(UsageError, "both orders", make_pattern("pairs", {{"pairs", "0-1,1-0"}}));
}

TEST(in_the_tournament_all_meet_once_in_the_fewest_rounds) {
  for (const char* mode : {"pingpong", "transfer"}) {
    const auto pattern = make_pattern("all-pairs", {{"form", "parallel"}, {"mode", mode}});
    for (const Rank ranks : counts()) {
      const std::int64_t rounds = pattern->extent(ranks, 1).phases;
      CHECK_EQ(rounds, ranks % 2 == 0 ? ranks - 1 : ranks);
      CHECK(all_routes(*pattern, ranks) == every_route(ranks));
      for (std::int64_t round = 0; round < rounds; ++round) {
        const std::set<RankPair> pairs = pairs_of(*pattern, ranks, round);
        CHECK(std::ssize(pairs) == ranks / 2 && disjoint(pairs));
      }
    }
  }
}

TEST(serial_all_pairs_times_every_route_once) {
  for (const char* mode : {"pingpong", "transfer"}) {
    const auto pattern = make_pattern("all-pairs", {{"mode", mode}});
    for (const Rank ranks : counts()) {
      std::multiset<RankPair> all;
      for (std::int64_t index = 0; index < pattern->extent(ranks, 1).phases; ++index)
        all.merge(timed(*pattern, ranks, index));
      CHECK(all == every_route(ranks));
    }
  }
}

TEST(bisection_pairs_across_the_cut) {
  for (const Rank ranks : counts()) {
    const std::set<RankPair> pairs = pairs_of(*make_pattern("bisection"), ranks, 3);
    CHECK(std::ssize(pairs) == ranks / 2 && disjoint(pairs));
  }
  const auto given = make_pattern("bisection", {{"half", "0-3,8"}});
  for (std::int64_t index = 0; index < 10; ++index) {
    const std::set<RankPair> pairs = pairs_of(*given, 12, index);
    CHECK_EQ(pairs.size(), 5);
    for (const auto& [a, b] : pairs) CHECK((a < 4 || a == 8) != (b < 4 || b == 8));
  }
  CHECK(pairs_of(*given, 12, 0) != pairs_of(*given, 12, 1));
  CHECK(given->refuse(8).find("names rank 8") != std::string::npos);
  CHECK(!make_pattern("bisection", {{"half", "0-3"}})->refuse(4).empty());
}

TEST(credited_bytes_are_those_of_the_papers) {
  // Fatoohi et al.: transfers of a process in a phase; Kurmann et al.: per direction.
  CHECK_EQ(credited("aapc", 0, 8), 2000.0);
  CHECK_EQ(credited("simple-pairwise", 0, 8), 4000.0);
  CHECK_EQ(credited("cumulative-pairwise", 0, 8), 2000.0);
  CHECK_EQ(credited("cumulative-pairwise", 2, 8), 0.0);
  CHECK_EQ(credited("random-pairwise", 0, 8), 2000.0);
  CHECK_EQ(credited("pairwise", 0, 8), 1000.0);
  CHECK_EQ(credited("pairwise", 8, 9), 0.0);
  CHECK_EQ(credited("aapc-burst", 0, 8), 7000.0);
}
