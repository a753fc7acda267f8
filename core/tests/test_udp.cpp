// The udp transport over real sockets on loopback, with disturbances by networks and strangers.
#include <arpa/inet.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "backends/udp/transport.hpp"
#include "tests/check.hpp"
#include "tests/rank_threads.hpp"

using namespace crosscut;
using namespace crosscut::backends::udp;
using namespace crosscut::measure;
using namespace crosscut::program;
using namespace crosscut::session;
using namespace crosscut::tests;

namespace {

const std::map<std::string, std::string> small_pieces{{"datagram", "1000"}, {"grace", "50ms"}};

bool is_mark(const Datagram& datagram) { return datagram.header.chunk == mark_chunk; }

Op operation(Op::Kind kind, Rank peer, std::int64_t bytes) {
  Op op;
  op.kind = kind;
  op.peer = peer;
  op.bytes = bytes;
  return op;
}

std::vector<std::byte> pattern_of(std::size_t bytes, int seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<std::byte>(i * 131 + i / 251 + static_cast<std::size_t>(seed));
  }
  return data;
}

struct Outcome {
  std::int64_t lost = 0;
  UdpInbox::Counts counts;
  std::int64_t kernel_drops = 0;
  std::vector<std::byte> received;
};

// Rank 0 sends a message to rank 1 and gets one back, `rounds` times. Returns what happened at either.
struct Exchange {
  std::int64_t bytes = 0;
  int rounds = 1;
  std::map<std::string, std::string> given = small_pieces;
  bool polling = false;
  UdpTransport::Tamper tamper{};  // at rank 1
  std::function<void(UdpTransport&)> connected{};

  std::array<Outcome, 2> run() const {
    RankThreads rig(2, polling);
    std::array<Outcome, 2> outcomes;
    rig.run([&](Rank rank) {
      UdpTransport transport(rig.context(rank), RankThreads::parameters("udp", given),
                             rank == 1 ? tamper : UdpTransport::Tamper{});
      const ConnectionId id{1 - rank, 0, 0};
      transport.connect(std::span(&id, 1), 0);
      if (rank == 1 && connected) connected(transport);
      std::vector<Op> ops{operation(Op::Kind::send, 1 - rank, bytes),
                          operation(Op::Kind::receive, 1 - rank, bytes)};
      if (rank == 1) std::swap(ops[0], ops[1]);
      auto sent = pattern_of(static_cast<std::size_t>(bytes), rank);
      auto& outcome = outcomes[static_cast<std::size_t>(rank)];
      outcome.received.resize(sent.size());
      rig.at(rank).barrier.wait();
      transport.start_phase(ops);
      for (int round = 0; round < rounds; ++round) {
        for (const auto& op : ops) {
          transport.execute(op, op.kind == Op::Kind::send ? sent.data() : outcome.received.data());
        }
      }
      transport.settle();
      const OpIndex receive = ops[0].kind == Op::Kind::receive ? 0 : 1;
      outcome.lost = transport.lost_bytes(receive);
      outcome.counts = transport.counts();
      CHECK(transport.moved_at(receive) <= transport.now());
      CHECK(transport.moved_at(phase_start) >= transport.moved_at(receive));
      outcome.kernel_drops = transport.kernel_drops();
      rig.at(rank).barrier.wait();
    });
    return outcomes;
  }
};

void check_whole(const std::array<Outcome, 2>& outcomes) {
  for (std::size_t rank : {0U, 1U}) {
    CHECK_EQ(outcomes[rank].lost, 0);
    CHECK(outcomes[rank].received == pattern_of(outcomes[rank].received.size(), 1 - static_cast<int>(rank)));
  }
}

}  // namespace

TEST(messages_of_any_size_arrive_whole) {
  for (const std::int64_t bytes : {0, 1, 999, 1000, 1001, 100'000}) {
    check_whole(Exchange{.bytes = bytes, .rounds = 20}.run());
  }
}

TEST(the_largest_datagrams_and_the_default_ones_pass) {
  check_whole(Exchange{.bytes = 150'000, .given = {{"datagram", "65483"}}}.run());
  check_whole(Exchange{.bytes = 150'000, .given = {}}.run());
}

TEST(without_offload_and_with_polling_messages_arrive_whole) {
  check_whole(
      Exchange{.bytes = 50'000, .rounds = 5, .given = {{"datagram", "700"}, {"offload", "false"}}}.run());
  check_whole(Exchange{.bytes = 50'000, .rounds = 5, .polling = true}.run());
}

TEST(a_paced_sender_takes_its_time) {
  // 20 kB at 1 MB/s per direction, one after the other: never faster than the rate, however slow the machine.
  const auto start = std::chrono::steady_clock::now();
  check_whole(Exchange{.bytes = 20'000, .given = {{"datagram", "1000"}, {"rate", "1MB"}}}.run());
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(36));
}

TEST(lost_pieces_are_counted_to_the_byte) {
  const auto drop = [](std::vector<Datagram>& datagrams) {
    std::erase_if(datagrams, [](const Datagram& d) { return !is_mark(d) && d.header.chunk % 3 == 0; });
  };
  const auto outcomes = Exchange{.bytes = 9500, .rounds = 4, .tamper = drop}.run();
  CHECK_EQ(outcomes[1].lost, 4 * (3 * 1000 + 500));  // pieces 0, 3, 6 and the short piece 9
  CHECK_EQ(outcomes[1].counts.cut_short, 4);
  CHECK_EQ(outcomes[0].lost, 0);
  CHECK_EQ(outcomes[0].counts.cut_short, 0);
}

TEST(a_lost_tail_is_counted_too) {
  const auto drop = [](std::vector<Datagram>& datagrams) {
    std::erase_if(datagrams, [](const Datagram& d) { return !is_mark(d) && d.header.chunk >= 7; });
  };
  const auto outcomes = Exchange{.bytes = 10'000, .tamper = drop}.run();
  CHECK_EQ(outcomes[1].lost, 3000);
}

TEST(with_one_direction_dead_all_rounds_end_and_its_messages_are_lost) {
  const auto drop = [](std::vector<Datagram>& datagrams) { datagrams.clear(); };
  for (const bool polling : {false, true}) {
    const auto outcomes = Exchange{.bytes = 5000, .rounds = 3, .polling = polling, .tamper = drop}.run();
    CHECK_EQ(outcomes[1].lost, 15'000);
    CHECK_EQ(outcomes[0].lost, 0);
  }
}

TEST(turns_are_passed_even_if_all_datagrams_are_lost) {
  const auto drop = [](std::vector<Datagram>& datagrams) { datagrams.clear(); };
  const auto outcomes = Exchange{.bytes = 0, .rounds = 5, .tamper = drop}.run();
  CHECK_EQ(outcomes[1].lost, 0);
  CHECK_EQ(outcomes[1].counts.cut_short, 5);
}

TEST(reordered_and_repeated_datagrams_lose_nothing) {
  const auto shuffle = [](std::vector<Datagram>& datagrams) {
    std::reverse(datagrams.begin(), datagrams.end());
    const auto copy = datagrams;
    datagrams.insert(datagrams.end(), copy.begin(), copy.end());
  };
  const auto outcomes = Exchange{.bytes = 20'000, .rounds = 10, .tamper = shuffle}.run();
  check_whole(outcomes);
  CHECK(outcomes[1].counts.late >= 200);  // 20 pieces in each of 10 rounds, each seen twice
}

TEST(datagrams_of_earlier_messages_are_not_taken_for_later_ones) {
  // Every datagram is repeated one batch later, when another message is under way.
  struct Kept {
    DatagramHeader header;
    std::vector<std::byte> payload;
  };
  std::vector<Kept> last, present;
  const auto replay = [&](std::vector<Datagram>& datagrams) {
    last = std::move(present);
    present.clear();
    for (const auto& d : datagrams) present.push_back({d.header, {d.payload.begin(), d.payload.end()}});
    for (const auto& old : last) datagrams.insert(datagrams.begin(), {old.header, old.payload});
  };
  const auto outcomes = Exchange{.bytes = 3000, .rounds = 30, .tamper = replay}.run();
  CHECK_EQ(outcomes[1].lost, 0);
  CHECK_EQ(outcomes[0].lost, 0);
  CHECK(outcomes[1].counts.late > 0);
}

TEST(strangers_are_dropped_by_the_kernel_and_do_no_harm) {
  constexpr int strangers = 300;
  const auto shoot = [](UdpTransport& transport) {
    const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto to = Address::parse("127.0.0.1:" + std::to_string(transport.port(0)));
    std::array<std::byte, 1500> garbage{};
    for (int i = 0; i < strangers; ++i) {
      const DatagramHeader header{.token = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL};
      std::memcpy(garbage.data(), &header, sizeof header);
      const auto bytes = static_cast<std::size_t>(i * 5);
      CHECK_EQ(::sendto(fd.get(), garbage.data(), bytes, 0, to.data(), to.length()), bytes);
    }
  };
  const auto outcomes = Exchange{.bytes = 10'000, .rounds = 10, .connected = shoot}.run();
  check_whole(outcomes);
  CHECK_EQ(outcomes[1].kernel_drops, strangers);
  CHECK_EQ(outcomes[1].counts.useless, 0);
}

TEST(a_wrong_token_that_came_past_the_kernel_is_refused) {
  const auto forge = [](std::vector<Datagram>& datagrams) {
    auto copy = datagrams;
    for (auto& d : copy) d.header.token ^= 1;
    for (auto d : datagrams) {
      d.header.lane += 1000;
      copy.push_back(d);
    }
    datagrams.insert(datagrams.begin(), copy.begin(), copy.end());
  };
  const auto outcomes = Exchange{.bytes = 10'000, .tamper = forge}.run();
  check_whole(outcomes);
  CHECK_EQ(outcomes[1].counts.useless, 20);
}

TEST(a_peer_that_disconnects_is_named) {
  for (const bool polling : {false, true}) {
    RankThreads rig(2, polling);
    Rank lost = -1;
    rig.run([&](Rank rank) {
      auto transport = std::make_unique<UdpTransport>(rig.context(rank), RankThreads::parameters("udp"));
      const ConnectionId id{1 - rank, 0, 0};
      transport->connect(std::span(&id, 1), 0);
      if (rank == 1) return;  // closes its connections
      const auto receive = operation(Op::Kind::receive, 1, 10);
      std::array<std::byte, 10> data{};
      transport->start_phase(std::span(&receive, 1));
      try {
        transport->execute(receive, data.data());
      } catch (const PeerLost& error) {
        lost = error.peer;
      }
    });
    CHECK_EQ(lost, 1);
  }
}

TEST(an_interrupt_ends_a_wait) {
  for (const bool polling : {false, true}) {
    RankThreads rig(2, polling);
    std::atomic<bool> ended = false;
    rig.run([&](Rank rank) {
      UdpTransport transport(rig.context(rank), RankThreads::parameters("udp"));
      const ConnectionId id{1 - rank, 0, 0};
      transport.connect(std::span(&id, 1), 0);
      if (rank == 1) {
        while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      const auto receive = operation(Op::Kind::receive, 1, 10);
      std::array<std::byte, 10> data{};
      transport.start_phase(std::span(&receive, 1));
      std::thread interrupter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        transport.interrupt();
      });
      CHECK_THROWS(std::runtime_error, transport.execute(receive, data.data()));
      interrupter.join();
      ended = true;
    });
  }
}

TEST(after_a_disconnect_everything_starts_anew) {
  RankThreads rig(2);
  rig.run([&](Rank rank) {
    UdpTransport transport(rig.context(rank), RankThreads::parameters("udp"));
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      const ConnectionId id{1 - rank, 0, 0};
      transport.connect(std::span(&id, 1), epoch);
      rig.at(rank).barrier.wait();
      const auto op = operation(rank == 0 ? Op::Kind::send : Op::Kind::receive, 1 - rank, 3000);
      auto data = rank == 0 ? pattern_of(3000, static_cast<int>(epoch)) : std::vector<std::byte>(3000);
      transport.start_phase(std::span(&op, 1));
      transport.execute(op, data.data());
      transport.settle();
      CHECK(data == pattern_of(3000, static_cast<int>(epoch)));
      rig.at(rank).barrier.wait();
      transport.disconnect();
      rig.at(rank).barrier.wait();
    }
  });
}

TEST(datagrams_too_small_or_too_large_are_refused) {
  RankThreads rig(1);
  CHECK_THROWS_SAYING(UsageError, "64 to 65483",
                      UdpTransport(rig.context(0), RankThreads::parameters("udp", {{"datagram", "63"}})));
  CHECK_THROWS(UsageError, RankThreads::parameters("udp", {{"datagram", "65484"}}));
}
