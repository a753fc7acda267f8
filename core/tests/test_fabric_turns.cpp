// Turns of messages over libfabric: ranks with fewer places than messages must not wait for each other.
#include <algorithm>
#include <array>
#include <vector>

#include "backends/fabric/turns.hpp"
#include "tests/check.hpp"

namespace {

using namespace crosscut;
using backends::fabric::Lane;
using backends::fabric::Pending;
using backends::fabric::Start;
using backends::fabric::Turns;

constexpr std::size_t ranks = 3;

// A provider without buffers: a message ends when both ends have it under way.
struct Network {
  struct End {
    Turns* turns = nullptr;
    Lane* lane = nullptr;
  };
  struct Member {
    Turns sends, receives;
    std::array<std::vector<End>, ranks> sent, received;  // [peer] under way
  };
  std::array<Member, ranks> at;

  explicit Network(std::size_t places) {
    for (auto& rank : at)
      for (auto* turns : {&rank.sends, &rank.receives}) turns->reset(places);
  }

  // Starts what can start, and ends what has met. Returns false if nothing more happens.
  bool step() {
    std::size_t ended = 0;
    for (auto& rank : at) {
      for (auto [turns, list] :
           {std::pair(&rank.sends, &rank.sent), std::pair(&rank.receives, &rank.received)})
        turns->start([&](Lane& lane, const Pending&) {
          (*list)[static_cast<std::size_t>(lane.peer)].push_back({turns, &lane});
          return Start::under_way;
        });
    }
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        auto &sent = at[from].sent[to], &received = at[to].received[from];
        const auto met = std::min(sent.size(), received.size());
        for (std::size_t i = 0; i < met; ++i)
          for (const auto& end : {sent[i], received[i]}) end.turns->ended(*end.lane);
        sent.erase(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(met));
        received.erase(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(met));
        ended += met;
      }
    }
    return ended > 0;
  }

  bool all_ended() const {
    return std::ranges::all_of(at, [](const Member& rank) {
      return rank.sends.unfinished() == nullptr && rank.receives.unfinished() == nullptr;
    });
  }
};

TEST(ranks_that_send_to_one_peer_and_receive_from_another_first_do_not_wait_for_ever) {
  // Each posts more sends to the next rank, and receives from it, than there are places, before any of the
  // others, which its peers need first.
  constexpr int messages = 10;
  Network network(4);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto& own = network.at[rank];
    for (const auto distance : {1U, 2U}) {
      const auto peer = static_cast<Rank>((rank + distance) % ranks);
      for (auto* turns : {&own.sends, &own.receives}) turns->expect({peer, 0});
      for (int i = 0; i < messages; ++i)
        for (auto* turns : {&own.sends, &own.receives}) turns->push({peer, 0}, {});
    }
  }
  CHECK(!network.all_ended());
  while (network.step()) continue;
  CHECK(network.all_ended());
}

TEST(messages_of_a_lane_start_in_order_and_a_refused_one_holds_up_its_own_lane_alone) {
  Turns turns;
  turns.reset(8);
  for (const int index : {0, 1, 2}) turns.push({7, 0}, {.index = index});
  turns.push({9, 0}, {.index = 3});
  std::vector<int> started;
  const auto attempt = [&](bool refuses_7) {
    return turns.start([&](const Lane& lane, const Pending& pending) {
      if (refuses_7 && lane.peer == 7 && !started.empty()) return Start::refused;
      started.push_back(pending.index);
      return Start::under_way;
    });
  };
  CHECK(!attempt(true));
  CHECK(started == (std::vector{0, 3}));
  CHECK(attempt(false));
  CHECK(started == (std::vector{0, 3, 1, 2}));
}

TEST(a_lane_takes_all_places_but_those_of_idle_lanes_of_the_phase) {
  Turns turns;
  turns.reset(8);
  std::size_t started = 0;
  Lane* one = nullptr;
  const auto start = [&] {
    turns.start([&](Lane& lane, const Pending&) {
      one = &lane;
      ++started;
      return Start::under_way;
    });
  };
  const auto push_many = [&] {
    for (int i = 0; i < 20; ++i) turns.push({1, 0}, {});
  };
  for (const Rank peer : {1, 2, 3}) turns.expect({peer, 0});
  push_many();
  start();
  CHECK_EQ(started, 6U);
  while (turns.unfinished() != nullptr) {
    turns.ended(*one);
    start();
  }
  CHECK_EQ(started, 20U);

  turns.begin_phase();
  started = 0;
  turns.expect({1, 0});
  push_many();
  start();
  CHECK_EQ(started, 8U);
}

TEST(a_lane_has_no_more_under_way_than_its_bound_and_a_closed_one_starts_nothing) {
  Turns turns;
  turns.reset(8);
  turns.bound_lanes(2);
  std::vector<Lane*> started;
  const auto start = [&] {
    turns.start([&](Lane& lane, const Pending&) {
      started.push_back(&lane);
      return Start::under_way;
    });
  };
  for (const Rank peer : {1, 2})
    for (int i = 0; i < 3; ++i) turns.push({peer, 0}, {});
  start();
  CHECK_EQ(started.size(), 4U);
  Lane& closed = *started.front();
  closed.closed = true;
  for (auto* lane : std::vector(started)) turns.ended(*lane);
  start();
  CHECK_EQ(started.size(), 5U);
  CHECK(started.back()->peer != closed.peer);
  closed.closed = false;
  start();
  CHECK_EQ(started.size(), 6U);
}

TEST(a_message_that_is_over_at_once_takes_no_place) {
  Turns turns;
  turns.reset(1);
  for (int i = 0; i < 5; ++i) turns.push({1, 0}, {.index = i});
  int over = 0;
  turns.start([&](const Lane&, const Pending&) {
    ++over;
    return Start::over;
  });
  CHECK_EQ(over, 5);
  CHECK(turns.unfinished() == nullptr);
}

}  // namespace
