// Senders, receivers and refusals. The contents of messages are checked in every run.
#include <vector>

#include "overlap/settings.hpp"
#include "overlap/worker.hpp"
#include "tests/check.hpp"

using namespace crosscut::overlap;

namespace {

Settings with(Pattern pattern, std::vector<std::int64_t> sizes = {1024}) {
  Settings settings;
  settings.pattern = pattern;
  settings.sizes = std::move(sizes);
  return settings;
}

}  // namespace

TEST(what_a_rank_sends_is_what_another_receives) {
  for (const Pattern pattern : {Pattern::ring, Pattern::pairs, Pattern::forward, Pattern::bystander})
    for (const int ranks : {2, 3, 4, 5, 8}) {
      if (!unsuitable(with(pattern), ranks).empty()) continue;
      for (int rank = 0; rank < ranks; ++rank) {
        const Route route = route_of(pattern, rank, ranks);
        if (route.to) CHECK_EQ(*route_of(pattern, *route.to, ranks).from, rank);
        if (route.from) CHECK_EQ(*route_of(pattern, *route.from, ranks).to, rank);
      }
    }
}

TEST(in_a_chain_those_between_pass_on_and_compute) {
  for (int rank = 0; rank < 5; ++rank) {
    const Route route = route_of(Pattern::forward, rank, 5);
    const bool between = rank > 0 && rank < 4;
    CHECK_EQ(route.forwards, between);
    CHECK_EQ(route.computes, between);
    CHECK_EQ(route.origin, 0);
  }
}

TEST(bystanders_compute_and_have_no_messages) {
  CHECK(!route_of(Pattern::bystander, 1, 3).communicates());
  CHECK(route_of(Pattern::bystander, 1, 3).computes);
  CHECK(!route_of(Pattern::bystander, 0, 3).computes);
  CHECK_EQ(*route_of(Pattern::bystander, 0, 3).to, 2);
}

TEST(ranks_that_do_not_fit_a_pattern_are_refused) {
  CHECK_EQ(unsuitable(with(Pattern::ring), 1), "1 rank: ring takes 2 or more");
  CHECK_EQ(unsuitable(with(Pattern::forward), 2), "2 ranks: forward takes 3 or more");
  CHECK_EQ(unsuitable(with(Pattern::pairs), 3), "3 ranks: pairs takes an even number");
  CHECK_EQ(unsuitable(with(Pattern::ring, {1024, 12}), 2), "--sizes: 12 B is not a multiple of 8 B");
  CHECK_EQ(unsuitable(with(Pattern::bystander), 3), "");
}

TEST(a_class_has_sizes_up_to_its_largest) {
  Settings settings;
  set_class(settings, crosscut::npb::ProblemClass::S);
  CHECK(settings.sizes == std::vector<std::int64_t>({1024, 16384, 262144}));
  set_class(settings, crosscut::npb::ProblemClass::W);
  CHECK(settings.sizes == std::vector<std::int64_t>({1024, 16384, 262144, 1048576}));
}

TEST(work_leaves_its_values_as_they_were_and_says_how_much_it_was) {
  Worker worker;
  worker.compute(123);
  CHECK_EQ(worker.changed(), 0);
  CHECK_EQ(worker.operations(3), 3.0 * 512 * 2);
}
