// How the udp backend handles datagrams in any order and state.
#include "backends/udp/inbox.hpp"
#include "backends/udp/wire.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::backends::udp;
using namespace crosscut::program;

namespace {

constexpr std::size_t chunk_bytes = 100;
constexpr std::int64_t reordering = 10, grace = 1000;

// One lane with messages of 250 bytes: pieces of 100, 100 and 50.
struct Fixture {
  UdpInbox inbox;
  std::uint32_t lane = 0;
  std::vector<std::byte> memory = std::vector<std::byte>(1000);
  std::vector<std::byte> sent = std::vector<std::byte>(250);

  explicit Fixture(std::size_t receives = 1, std::int64_t early_bytes = 10'000)
      : inbox(
            {.reordering_nanoseconds = reordering, .grace_nanoseconds = grace, .early_bytes = early_bytes}) {
    lane = inbox.add_lane(chunk_bytes);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i + 1);
    start(receives);
  }
  void start(std::size_t receives, std::int64_t bytes = 250) {
    std::vector<UdpInbox::Receive> list;
    for (std::size_t i = 0; i < receives; ++i) list.push_back({static_cast<OpIndex>(i), lane, bytes});
    inbox.start_phase(receives, list);
  }
  void post(OpIndex op, std::int64_t now = 0) { inbox.post(op, memory.data() + 250 * op, now); }
  bool take(std::uint64_t message, std::uint32_t chunk, std::int64_t now = 1) {
    const auto from = chunk * chunk_bytes;
    return inbox.take(lane, message, chunk,
                      std::span(sent).subspan(from, std::min(chunk_bytes, sent.size() - from)), now);
  }
  bool holds(OpIndex op) const {
    return std::equal(sent.begin(), sent.end(), memory.begin() + 250 * static_cast<std::ptrdiff_t>(op));
  }
  std::vector<OpIndex> done() { return std::exchange(inbox.completed(), {}); }
};

using Ops = std::vector<OpIndex>;

}  // namespace

TEST(pieces_in_any_order_make_the_message) {
  Fixture f;
  f.post(0);
  CHECK(f.take(0, 2, 1));
  CHECK(f.take(0, 0, 2));
  CHECK_EQ(f.done(), Ops{});
  CHECK(f.take(0, 1, 3));
  CHECK_EQ(f.done(), Ops{0});
  CHECK(f.holds(0));
  CHECK_EQ(f.inbox.lost_bytes(0), 0);
  CHECK_EQ(f.inbox.moved_at(0), 3);
}

TEST(duplicates_are_counted_and_change_nothing) {
  Fixture f;
  f.post(0);
  CHECK(f.take(0, 0));
  CHECK(!f.take(0, 0));
  CHECK(f.take(0, 1));
  CHECK_EQ(f.done(), Ops{});
  CHECK(f.take(0, 2));
  CHECK_EQ(f.done(), Ops{0});
  CHECK(!f.take(0, 2));
  CHECK_EQ(f.inbox.counts().late, 2);
}

TEST(a_missing_piece_is_lost_once_the_last_one_has_been_there_for_a_while) {
  Fixture f;
  f.post(0);
  f.take(0, 0, 5);
  f.inbox.give_up_overdue(1'000'000);
  CHECK_EQ(f.done(), Ops{});  // its sender may not have sent the rest yet
  f.take(0, 2, 1'000'007);
  CHECK_EQ(f.inbox.next_deadline(), 1'000'007 + reordering);
  f.inbox.give_up_overdue(1'000'007 + reordering - 1);
  CHECK_EQ(f.done(), Ops{});
  f.inbox.give_up_overdue(1'000'007 + reordering);
  CHECK_EQ(f.done(), Ops{0});
  CHECK_EQ(f.inbox.lost_bytes(0), 100);
  CHECK_EQ(f.inbox.moved_at(0), 1'000'007);  // without the final wait
  CHECK(!f.take(0, 1, 2'000'000));           // too late
  CHECK_EQ(f.inbox.counts().late, 1);
}

TEST(pieces_that_trickle_in_extend_the_grace) {
  Fixture f;
  f.post(0);
  f.inbox.handed_over(f.lane, 1, UdpInbox::Said::out_of_band, 10);
  f.take(0, 0, 900);
  f.inbox.give_up_overdue(10 + grace);
  CHECK_EQ(f.done(), Ops{});
  f.inbox.give_up_overdue(900 + grace);
  CHECK_EQ(f.done(), Ops{0});
  CHECK_EQ(f.inbox.lost_bytes(0), 150);
}

TEST(a_completely_lost_message_ends_too) {
  Fixture f;
  f.post(0);
  f.inbox.handed_over(f.lane, 1, UdpInbox::Said::out_of_band, 10);
  f.inbox.give_up_overdue(10 + grace);
  CHECK_EQ(f.done(), Ops{0});
  CHECK_EQ(f.inbox.lost_bytes(0), 250);
  CHECK_EQ(f.inbox.moved_at(0), 10 + grace);
}

TEST(an_empty_message_ends_without_loss_even_if_its_datagram_is_lost) {
  Fixture f;
  f.start(1, 0);
  f.post(0);
  f.inbox.handed_over(f.lane, 1, UdpInbox::Said::out_of_band, 10);
  f.inbox.give_up_overdue(10 + grace);
  CHECK_EQ(f.done(), Ops{0});
  CHECK_EQ(f.inbox.lost_bytes(0), 0);
  f.post(0);
  CHECK(f.inbox.take(f.lane, 1, 0, {}, 5000));
  CHECK_EQ(f.done(), Ops{0});
}

TEST(a_later_message_or_a_mark_ends_earlier_ones) {
  for (const bool by_mark : {false, true}) {
    Fixture f(2);
    f.post(0);
    f.post(1);
    if (by_mark) {
      CHECK(!f.inbox.take(f.lane, 1, mark_chunk, {}, 50));
    } else {
      CHECK(f.take(1, 0, 50));
    }
    f.inbox.give_up_overdue(50 + reordering);
    CHECK_EQ(f.done(), Ops{0});
    CHECK_EQ(f.inbox.lost_bytes(0), 250);
    CHECK_EQ(f.inbox.lost_bytes(1), 0);
  }
}

TEST(pieces_that_come_before_their_receive_are_kept_for_it) {
  Fixture f(2);
  f.post(0);
  for (const std::uint32_t chunk : {2U, 0U, 1U}) CHECK(f.take(1, chunk));
  for (const std::uint32_t chunk : {0U, 1U, 2U}) CHECK(f.take(0, chunk));
  CHECK_EQ(f.done(), Ops{0});
  f.post(1, 2);
  CHECK_EQ(f.done(), Ops{1});
  CHECK(f.holds(1));
  CHECK_EQ(f.inbox.counts().crowded, 0);
}

TEST(a_receive_posted_after_its_message_was_sent_ends) {
  Fixture f;
  f.inbox.handed_over(f.lane, 1, UdpInbox::Said::out_of_band, 10);
  f.post(0, 500);
  f.inbox.give_up_overdue(500 + grace);
  CHECK_EQ(f.done(), Ops{0});
}

TEST(a_full_early_buffer_gives_up_finished_messages_and_stays_bounded) {
  Fixture f(1, 1000);
  f.post(0);
  std::uint64_t kept = 0;
  for (std::uint64_t message = 1; message < 100; ++message) kept += f.take(message, 0) ? 1 : 0;
  CHECK_EQ(f.done(), Ops{0});
  CHECK(kept > 4 && kept < 20);
  CHECK_EQ(f.inbox.counts().crowded, 99 - static_cast<std::int64_t>(kept));
}

TEST(losses_add_up_over_iterations) {
  Fixture f;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto now = static_cast<std::int64_t>(i) * 10'000;
    f.post(0, now);
    f.take(i, 2, now + 1);
    f.inbox.give_up_overdue(now + 1 + reordering);
    CHECK_EQ(f.done(), Ops{0});
  }
  CHECK_EQ(f.inbox.lost_bytes(0), 600);
}

TEST(pieces_that_do_not_fit_are_refused) {
  Fixture f;
  f.post(0);
  CHECK(!f.inbox.take(f.lane, 0, 3, std::span(f.sent).first(100), 1));  // no such piece
  CHECK(!f.inbox.take(f.lane, 0, 0, std::span(f.sent).first(99), 1));   // too short
  CHECK(!f.inbox.take(f.lane, 0, 2, std::span(f.sent).first(100), 1));  // longer than the rest
  CHECK(!f.inbox.take(f.lane, 0, 0xfffffffe, std::span(f.sent).first(50), 1));
  CHECK(!f.inbox.take(7, 0, 0, std::span(f.sent).first(100), 1));  // no such lane
  CHECK_EQ(f.inbox.counts().useless, 5);
  for (const std::uint32_t chunk : {0U, 1U, 2U}) CHECK(f.take(0, chunk));
  CHECK(f.holds(0));
}

TEST(a_senseless_introduction_is_refused) {
  Introduction good;
  good.chunk_bytes = 1400;
  good.port = 5;
  check_introduction(good, 3);
  auto bad = good;
  bad.chunk_bytes = 65'500;
  CHECK_THROWS_SAYING(RunError, "rank 3", check_introduction(bad, 3));
  bad = good;
  bad.chunk_bytes = 0;
  CHECK_THROWS(RunError, check_introduction(bad, 3));
  bad = good;
  bad.magic[0] = '?';
  CHECK_THROWS(RunError, check_introduction(bad, 3));
}
