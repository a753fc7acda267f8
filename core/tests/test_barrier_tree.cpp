// The barrier between phases, with threads as ranks.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

#include "session/barrier_tree.hpp"
#include "session/root_clock.hpp"
#include "session/starts.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::session;

namespace {

std::vector<Rank> everybody(Rank ranks) {
  std::vector<Rank> living(static_cast<std::size_t>(ranks));
  std::iota(living.begin(), living.end(), 0);
  return living;
}

// A tree over socket pairs, set up like the ranks' over TCP.
class Forest {
 public:
  explicit Forest(Rank ranks) : trees_(static_cast<std::size_t>(ranks)) {
    std::vector<Fd> parents(trees_.size());
    std::vector<std::vector<Fd>> children(trees_.size());
    for (Rank rank = 1; rank < ranks; ++rank) {
      std::array<int, 2> ends{};
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
      parents[static_cast<std::size_t>(rank)].reset(ends[0]);
      children[static_cast<std::size_t>(BarrierTree::place(rank, ranks, {}).parent)].emplace_back(ends[1]);
    }
    for (std::size_t i = 0; i < trees_.size(); ++i)
      trees_[i].set(std::move(parents[i]), std::move(children[i]));
  }
  BarrierTree& at(Rank rank) { return trees_[static_cast<std::size_t>(rank)]; }
  Rank ranks() const { return static_cast<Rank>(trees_.size()); }

  // Runs `body(rank)` in a thread for each rank.
  template <typename Body>
  void run(Body&& body) {
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < ranks(); ++rank) threads.emplace_back([&body, rank] { body(rank); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<BarrierTree> trees_;
};

}  // namespace

TEST(every_rank_has_one_place_and_none_too_many_children) {
  for (const Rank ranks : {1, 2, 16, 17, 18, 273, 274, 4096}) {
    const auto living = everybody(ranks);
    std::vector<Rank> parent(living.size(), -2);
    Rank roots = 0;
    for (const Rank rank : living) {
      const auto place = BarrierTree::place(rank, ranks, {});
      roots += place.parent < 0 ? 1 : 0;
      CHECK(place.children.size() <= BarrierTree::arity);
      CHECK(place.parent < rank);
      for (const Rank child : place.children) {
        CHECK_EQ(parent[static_cast<std::size_t>(child)], -2);
        parent[static_cast<std::size_t>(child)] = rank;
      }
    }
    CHECK_EQ(roots, 1);
    for (const Rank rank : living)
      if (rank != 0)
        CHECK_EQ(parent[static_cast<std::size_t>(rank)], BarrierTree::place(rank, ranks, {}).parent);
  }
}

TEST(a_tree_of_the_living_leaves_out_the_lost) {
  const std::vector<Rank> lost{1, 2, 5, 6, 7, 8, 10, 11};
  CHECK_EQ(BarrierTree::place(0, 13, lost).children, (std::vector<Rank>{3, 4, 9, 12}));
  for (const Rank rank : {3, 4, 9, 12}) CHECK_EQ(BarrierTree::place(rank, 13, lost).parent, 0);
}

TEST(no_rank_leaves_before_all_have_come) {
  constexpr int rounds = 50;
  for (const bool polling : {false, true}) {
    Forest forest(20);
    std::array<std::atomic<int>, rounds> arrived{};
    std::atomic<int> early{0};
    forest.run([&](Rank rank) {
      forest.at(rank).poll(polling);
      for (auto& count : arrived) {
        ++count;
        forest.at(rank).wait();
        if (count != forest.ranks()) ++early;
      }
    });
    CHECK_EQ(early.load(), 0);
    for (const auto& count : arrived) CHECK_EQ(count.load(), 20);
  }
}

TEST(a_rank_keeps_working_until_the_last_one_comes) {
  Forest forest(19);  // two levels
  std::array<std::atomic<bool>, 19> worked{};
  forest.run([&](Rank rank) {
    const auto is_last = [](Rank one) { return one == 18; };
    if (is_last(rank)) {
      const auto waits = [&](Rank one) { return is_last(one) || worked[static_cast<std::size_t>(one)]; };
      while (!std::ranges::all_of(everybody(19), waits)) std::this_thread::yield();
    }
    forest.at(rank).wait([&] { worked[static_cast<std::size_t>(rank)] = true; });
  });
  for (std::size_t rank = 0; rank < 18; ++rank) CHECK(worked[rank].load());
}

TEST(a_single_rank_waits_for_nobody) {
  BarrierTree tree;
  tree.wait();
  CHECK_EQ(tree.measure_offset().seconds, 0.0);
}

TEST(equal_clocks_agree_within_the_stated_uncertainty) {
  Forest forest(19);  // two levels
  std::vector<BarrierTree::ClockOffset> offsets(19);
  forest.run([&](Rank rank) { offsets[static_cast<std::size_t>(rank)] = forest.at(rank).measure_offset(); });
  CHECK_EQ(offsets[0].uncertainty_seconds, 0.0);
  for (std::size_t rank = 1; rank < offsets.size(); ++rank) {
    CHECK(offsets[rank].uncertainty_seconds > 0);
    CHECK(std::abs(offsets[rank].seconds) <= offsets[rank].uncertainty_seconds);
  }
}

TEST(a_dead_rank_breaks_the_barrier_for_all) {
  Forest forest(18);
  std::atomic<int> broken{0};
  forest.run([&](Rank rank) {
    try {
      if (rank == 17) {
        forest.at(rank).clear();  // like a process that dies
        return;
      }
      forest.at(rank).wait();
    } catch (const ConnectionLost&) {
      ++broken;
      forest.at(rank).clear();
    }
  });
  CHECK_EQ(broken.load(), 17);
}

TEST(an_interrupt_frees_all_waiting_ranks) {
  Forest forest(3);
  std::atomic<bool> freed{false};
  std::thread waiting([&] {
    try {
      forest.at(1).wait();
    } catch (const ConnectionLost&) {
      freed = true;
    }
  });
  forest.at(1).interrupt();
  waiting.join();
  CHECK(freed.load());
}

TEST(times_are_converted_to_the_roots_clock_within_the_uncertainty) {
  Forest forest(20);
  std::array<std::atomic<std::int64_t>, 20> moved{};
  std::array<std::atomic<double>, 20> uncertainty{};
  forest.run([&](Rank rank) {
    const auto i = static_cast<std::size_t>(rank);
    RootClock clock;
    uncertainty[i] = clock.start(forest.at(rank));
    const auto now = monotonic_nanoseconds();
    std::array<std::int64_t, 3> times{now, measure::not_started, now + 1000};
    clock.convert(forest.at(rank), times);
    CHECK_EQ(times[1], measure::not_started);
    CHECK(std::abs(times[2] - times[0] - 1000) < 100);
    moved[i] = std::abs(times[0] - now);
  });
  CHECK_EQ(moved[0], 0);
  // All threads have one clock. A later comparison may be a little less certain than the first.
  for (std::size_t i = 1; i < moved.size(); ++i)
    CHECK(static_cast<double>(moved[i]) < 1e9 * (uncertainty[i] + 20e-3));
}

TEST(the_skew_is_that_of_the_ranks_that_started) {
  Starts starts(3);
  starts.add(std::array<std::int64_t, 3>{1000, measure::not_started, measure::not_started});
  starts.add(std::array<std::int64_t, 3>{4000, 7000, measure::not_started});
  starts.add({});  // a rank of a backend without starts
  starts.add(std::array<std::int64_t, 3>{3000, measure::not_started, measure::not_started});
  const auto skew = starts.skew_seconds();
  CHECK(std::abs(skew[0] - 3e-6) < 1e-12);
  CHECK_EQ(skew[1], 0.0);
  CHECK(std::isnan(skew[2]));
}

// Large entries make several frames of what a rank passes up.
TEST(an_order_reaches_every_rank_and_what_all_pass_up_reaches_the_root_whole) {
  for (const std::size_t entry_bytes : {std::size_t{4}, std::size_t{700'000}}) {
    Forest forest(40);
    std::atomic<int> ordered{0};
    std::vector<std::byte> collected;
    int frames = 0;
    forest.run([&](Rank rank) {
      auto& tree = forest.at(rank);
      const Frame order = rank == 0 ? Frame{FrameType::run, {std::byte{7}, std::byte{9}}} : tree.from_above();
      tree.pass_down(order);
      if (order.type == FrameType::run && order.payload.back() == std::byte{9}) ++ordered;
      tree.pass_up(std::vector<std::byte>(entry_bytes, static_cast<std::byte>(rank)),
                   [&](const Frame& frame) {
                     ++frames;
                     collected.insert(collected.end(), frame.payload.begin(), frame.payload.end());
                   });
    });
    CHECK_EQ(ordered.load(), 40);
    CHECK_EQ(collected.size(), 40 * entry_bytes);
    CHECK(entry_bytes < 100 ? frames == 1 : frames > 10);
    std::array<std::size_t, 40> bytes_of{};
    for (std::size_t at = 0; at < collected.size(); ++at) {
      const auto rank = std::to_integer<std::size_t>(collected[at]);
      CHECK(collected[at - at % entry_bytes] == collected[at]);
      ++bytes_of.at(rank);
    }
    CHECK(std::ranges::all_of(bytes_of, [&](std::size_t bytes) { return bytes == entry_bytes; }));
  }
}

TEST(a_child_that_is_gone_before_it_passed_its_samples_up_is_named) {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  BarrierTree tree;
  std::vector<Fd> children;
  children.emplace_back(ends[0]);
  Fd child(ends[1]);
  tree.set({}, std::move(children), {17});
  child.reset();
  try {
    tree.pass_up({}, [](const Frame&) {});
    CHECK(false);
  } catch (const measure::PeerLost& lost) {
    CHECK_EQ(lost.peer, 17);
    CHECK_EQ(lost.doing, "waiting for the samples of rank 17");
  }
}
