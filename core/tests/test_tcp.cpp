// The backend tcp over loopback, with one or several connections per route.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "backends/tcp/connections.hpp"
#include "tests/check.hpp"
#include "tests/pattern_cases.hpp"
#include "tests/rank_threads.hpp"

using namespace crosscut;
using namespace crosscut::backends::tcp;
using namespace crosscut::measure;
using namespace crosscut::program;
using namespace crosscut::session;
using namespace crosscut::tests;

namespace {

constexpr Rank ranks = 4;

// Parameters that a pattern requires, or without which it would take long.
const std::map<std::string, Given> given{
    {"pairs", {{"pairs", "0-1,2-3"}}},
    {"congestor", {{"pings", "20"}, {"messages", "5"}, {"load", "60KB"}, {"chunk", "6KB"}}}};

// Returns this process's connection ends that have received this many bytes.
int ends_with(std::uint64_t received_bytes) {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
      count += info.tcpi_bytes_received >= received_bytes ? 1 : 0;
  }
  return count;
}

// Runs the first phases of a pattern with every byte verified. Returns the results of all ranks; `then` runs
// before they disconnect.
std::vector<RankSamples> measured(
    const Pattern& pattern, std::int64_t bytes, const std::string& connections, bool polling,
    const std::function<void()>& then = [] {}) {
  RankThreads threads(ranks, polling);
  const auto extent = pattern.extent(ranks, bytes);
  std::vector<RankSamples> samples(ranks);
  threads.run([&](Rank rank) {
    const auto backend = find_backend("tcp").make(
        threads.context(rank), RankThreads::parameters("tcp", {{"connections", connections}}));
    backend->reserve(extent, {.limit_bytes = 1 << 26, .verify = true});
    samples[static_cast<std::size_t>(rank)] =
        backend->run({.pattern = &pattern,
                      .bytes = bytes,
                      .extent = extent,
                      .block = {0, 0, std::min<std::int64_t>(extent.phases, 4), 0, 2},
                      .iterations = extent.iterable ? 2 : 1,
                      .lost = {},
                      .verify = true,
                      .verify_seed = 7});
    threads.at(rank).barrier.wait();
    if (rank == 0) then();
    threads.at(rank).barrier.wait();
  });
  return samples;
}

// Two ranks with a lane of four connections on each of two channels, opened twice as two jobs.
struct Lanes {
  static constexpr std::size_t each = 4;
  static constexpr std::array<std::uint8_t, 2> channels{0, 3};

  static Op on(std::uint8_t channel, Rank peer) {
    Op op;
    op.channel = channel;
    op.peer = peer;
    return op;
  }

  std::array<std::vector<store::Connection>, 2> first, again, next_job;  // [rank], as reported
  // [rank][channel * each + stripe] the kernel's ports, of this end and the other
  std::array<std::vector<std::pair<int, int>>, 2> kernel;

  Lanes() {
    RankThreads threads(2);
    threads.run([&](Rank rank) {
      const auto me = static_cast<std::size_t>(rank);
      TcpOptions options;
      options.connections = each;
      TcpConnections connections(threads.context(rank), options);
      std::vector<ConnectionId> ids;
      for (const auto channel : channels) ids.push_back({1 - rank, channel, 0});
      connections.begin_job();
      connections.open(ids, 1);
      first[me] = connections.take_new_connections();
      connections.open(ids, 1);
      again[me] = connections.take_new_connections();
      connections.begin_job();
      connections.open(ids, 1);
      next_job[me] = connections.take_new_connections();
      for (const auto channel : channels)
        for (const auto& one : connections.at(on(channel, 1 - rank)).connections) {
          sockaddr_storage storage{};
          socklen_t length = sizeof storage;
          auto* address = reinterpret_cast<sockaddr*>(&storage);
          REQUIRE(::getpeername(one.fd.get(), address, &length) == 0);
          kernel[me].emplace_back(local_address(one.fd.get()).port(), Address(address, length).port());
        }
      threads.at(rank).barrier.wait();
    });
  }
};

// Sets a soft limit of open files during its lifetime.
class OpenFiles {
 public:
  explicit OpenFiles(rlim_t most) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit lower{.rlim_cur = most, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &lower) == 0);
  }
  ~OpenFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST(parts_cover_a_message_and_differ_by_a_byte) {
  for (const std::size_t bytes : {1UL, 7UL, 16UL, 1'000'003UL, 1UL << 40U}) {
    for (const std::size_t parts : {1UL, 3UL, 16UL, 256UL}) {
      CHECK_EQ(begin_of_part(bytes, parts, 0), 0);
      CHECK_EQ(begin_of_part(bytes, parts, parts), bytes);
      for (std::size_t part = 0; part < parts; ++part) {
        const auto length = begin_of_part(bytes, parts, part + 1) - begin_of_part(bytes, parts, part);
        CHECK(length == bytes / parts || length == bytes / parts + 1);
      }
    }
  }
}

TEST(each_connection_of_a_route_carries_its_part_both_ways) {
  for (const std::string_view mode : {"pingpong", "bidirectional"}) {
    const auto pattern = make_pattern("pingpong", {{"mode", std::string(mode)}});
    for (const int connections : {1, 5}) {
      int carrying = 0;
      measured(*pattern, 1'000'000, std::to_string(connections), mode == "bidirectional",
               [&] { carrying = ends_with(1'000'000 / static_cast<std::uint64_t>(connections)); });
      CHECK_EQ(carrying, 2 * connections);
    }
  }
}

TEST(every_pattern_brings_the_right_bytes_over_any_number_of_connections) {
  for (const auto* info : patterns()) {
    const auto found = given.find(std::string(info->name));
    const auto pattern = make_pattern(info->name, found == given.end() ? Given{} : found->second);
    for (const auto bytes : {std::int64_t{2}, std::int64_t{60'000}}) {
      for (const auto* connections : {"1", "5"}) {
        std::size_t used = 0;
        for (const auto& samples : measured(*pattern, bytes, connections, false)) {
          if (samples.wrong_count > 0) tests::fail(info->name.data(), 0, "wrong bytes");
          used += samples.connections.size();
        }
        if (used == 0 || used % static_cast<std::size_t>(connections[0] - '0') != 0)
          tests::fail(info->name.data(), 0, "tells " + std::to_string(used) + " connections");
      }
    }
  }
}

TEST(the_rank_that_connected_tells_the_ports_that_the_kernel_has_at_both_ends) {
  const Lanes lanes;
  CHECK(lanes.first[0].empty());
  const auto& told = lanes.first[1];
  REQUIRE(told.size() == lanes.kernel[1].size() && told.size() == lanes.kernel[0].size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    CHECK(told[i].rank == 1 && told[i].peer == 0 && told[i].rail == 0);
    CHECK_EQ(told[i].index,
             static_cast<std::int32_t>(Lanes::channels[i / Lanes::each] * Lanes::each + i % Lanes::each));
    CHECK_EQ(std::pair(told[i].local_port, told[i].remote_port), lanes.kernel[1][i]);
    CHECK_EQ(std::pair(told[i].remote_port, told[i].local_port), lanes.kernel[0][i]);
  }
}

TEST(kept_connections_are_reported_once_per_job) {
  const Lanes lanes;
  CHECK(lanes.again[1].empty());
  CHECK(!lanes.next_job[1].empty() && lanes.next_job[1] == lanes.first[1]);
}

// Each block alone would fit: two phases of a rank use two lanes of 16 connections, all phases three.
TEST(a_job_is_refused_before_its_first_block_if_its_blocks_together_need_too_many_connections) {
  const auto pattern = make_pattern("simple-pairwise");
  const OpenFiles limit(64 + 3 * 16 - 1);
  CHECK_THROWS_SAYING(UsageError,
                      "needs 48 connections, but may open only 111 files; raise the limit with ulimit -n 112",
                      measured(*pattern, 1000, "16", false));
}

TEST(a_job_runs_if_the_connections_of_all_its_phases_fit_exactly) {
  // A ping-pong of one pair uses one lane of 2 channels for 3 peers.
  const auto pattern = make_pattern("pingpong");
  const OpenFiles limit(64 + 10);
  CHECK_EQ(measured(*pattern, 1000, "10", false).size(), std::size_t{ranks});
}

TEST(lanes_of_earlier_jobs_count_because_they_stay_open) {
  RankThreads threads(2);
  threads.run([&](Rank rank) {
    TcpOptions options;
    options.connections = 4;
    TcpConnections connections(threads.context(rank), options);
    const std::array before{ConnectionId{1 - rank, 0, 0}}, next{ConnectionId{1 - rank, 1, 0}};
    connections.open(before, 1);
    threads.at(rank).barrier.wait();
    if (rank == 0) {
      const OpenFiles limit(64 + 7);
      connections.expect(before);
      CHECK_THROWS_SAYING(UsageError, "needs 8 connections", connections.expect(next));
    }
    threads.at(rank).barrier.wait();
  });
}
