// When the switch delivers frames that have left the network, and in which pieces.
#include <map>
#include <vector>

#include "base/random.hpp"
#include "tests/check.hpp"
#include "user_switch/outbox.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::user_switch;

constexpr Instant frame_time = 100, hold = 8 * frame_time;

std::vector<Parcel> take_all(Outbox& outbox, Instant now) {
  std::vector<Parcel> taken;
  for (Parcel parcel; outbox.take(now, parcel);) taken.push_back(parcel);
  return taken;
}

TEST(a_single_frame_is_delivered_when_it_is_due) {
  Outbox outbox;
  outbox.expect(3, 1, hold);
  outbox.add(3, 0, 70);
  CHECK_EQ(outbox.next_due(), 70);
  CHECK(take_all(outbox, 69).empty());
  CHECK(!outbox.is_done(3));
  const auto taken = take_all(outbox, 70);
  REQUIRE(taken.size() == 1);
  CHECK_EQ(taken[0].bundle, 3u);
  CHECK_EQ(taken[0].count, 1);
  CHECK_EQ(taken[0].when, 70);
  CHECK(outbox.is_done(3));
  CHECK_EQ(outbox.next_due(), never);
}

TEST(a_bundle_that_comes_without_a_gap_is_one_piece_when_its_last_frame_is_due) {
  Outbox outbox;
  outbox.expect(0, 8, hold);
  for (int i = 0; i < 8; ++i) outbox.add(0, i, (i + 1) * frame_time);
  CHECK(take_all(outbox, 8 * frame_time - 1).empty());
  const auto taken = take_all(outbox, 8 * frame_time);
  REQUIRE(taken.size() == 1);
  CHECK_EQ(taken[0].count, 8);
  CHECK_EQ(taken[0].first_due, frame_time);
}

TEST(frames_that_waited_for_the_maximum_time_do_not_wait_for_the_rest) {
  Outbox outbox;
  outbox.expect(0, 4, hold);
  outbox.add(0, 0, 100);
  outbox.add(0, 1, 300);
  const auto early = take_all(outbox, 100 + hold);
  REQUIRE(early.size() == 1);
  CHECK_EQ(early[0].count, 2);
  CHECK_EQ(early[0].when, 100 + hold);
  outbox.add(0, 2, 5000);
  outbox.add(0, 3, 5100);
  const auto late = take_all(outbox, 5100);
  REQUIRE(late.size() == 1);
  CHECK_EQ(late[0].first, 2);
  CHECK_EQ(late[0].count, 2);
}

TEST(no_frame_waits_for_a_lost_one_and_pieces_end_at_the_gap) {
  Outbox outbox;
  outbox.expect(0, 5, hold);
  outbox.add(0, 0, 100);
  outbox.add(0, 1, 200);
  outbox.lost(0);  // number 2
  outbox.add(0, 3, 400);
  outbox.lost(0);  // the last
  const auto taken = take_all(outbox, 400);
  REQUIRE(taken.size() == 2);
  CHECK_EQ(taken[0].count, 2);
  CHECK_EQ(taken[0].when, 200);
  CHECK_EQ(taken[1].first, 3);
  CHECK_EQ(taken[1].when, 400);
  CHECK(outbox.is_done(0));
}

TEST(a_completely_lost_bundle_is_done) {
  Outbox outbox;
  outbox.expect(9, 2, hold);
  outbox.lost(9);
  CHECK(!outbox.is_done(9));
  outbox.lost(9);
  CHECK(outbox.is_done(9));
  CHECK(take_all(outbox, never - 1).empty());
}

// Bundles of several flows, interleaved, with lost frames, taken at any time.
void check_random_bundles(std::uint64_t seed) {
  Random random(seed);
  Outbox outbox;
  struct Sent {
    int frames = 0, next = 0;     // in the order in which they leave the network
    std::map<int, Instant> dues;  // of frames that were not lost
  };
  std::map<BundleId, Sent> sent;
  std::vector<Parcel> taken;
  Instant now = 0;
  BundleId next_id = 0;
  const auto take = [&] {
    for (const auto& parcel : take_all(outbox, now)) taken.push_back(parcel);
  };
  for (int turn = 0; turn < 400; ++turn) {
    now += static_cast<Instant>(random.below(3)) * frame_time / 2;
    if (turn < 350 && random.below(4) == 0) {
      auto& made = sent[next_id];
      made.frames = 1 + static_cast<int>(random.below(10));
      outbox.expect(next_id++, made.frames, hold);
    }
    for (auto& [id, one] : sent) {
      if (one.next == one.frames || random.below(3) == 0) continue;
      if (random.below(12) == 0) {
        outbox.lost(id);
      } else {
        const auto due = now + static_cast<Instant>(random.below(2)) * frame_time;
        const auto before = one.dues.empty() ? Instant{0} : one.dues.rbegin()->second;
        one.dues[one.next] = std::max(due, before);
        outbox.add(id, one.next, one.dues[one.next]);
      }
      ++one.next;
    }
    if (random.below(2) == 0) take();
  }
  for (auto& [id, one] : sent)
    for (; one.next < one.frames; ++one.next) outbox.lost(id);
  now += 1'000'000;
  take();
  std::map<BundleId, int> latest;
  for (const auto& parcel : taken) {
    auto& one = sent[parcel.bundle];
    CHECK(parcel.first >= latest[parcel.bundle]);
    latest[parcel.bundle] = parcel.first + parcel.count;
    for (int i = parcel.first; i < parcel.first + parcel.count; ++i) {
      REQUIRE(one.dues.count(i) == 1);  // each frame once, no lost one
      CHECK(one.dues[i] <= parcel.when);
      CHECK(parcel.when - one.dues[i] <= hold);
      one.dues.erase(i);
    }
  }
  for (const auto& [id, one] : sent) CHECK(one.dues.empty() && outbox.is_done(id));
  CHECK_EQ(outbox.frames_waiting(), 0);
}

TEST(every_frame_is_delivered_once_in_order_never_early_and_never_held_too_long) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) check_random_bundles(seed);
}

}  // namespace
