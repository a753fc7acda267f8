// Windows and rails in virtual time: the messages of a route share its connection, the parts of a message end
// with the slowest, and every pattern ends.
#include <cmath>

#include "backends/sim/phase.hpp"
#include "base/error.hpp"
#include "networks/network.hpp"
#include "program/in_flight.hpp"
#include "tests/check.hpp"
#include "tests/pattern_cases.hpp"

using namespace crosscut;
using namespace crosscut::backends::sim;
using namespace crosscut::networks;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

// Two adapters for each host; 100 bytes per second, 3 s from host to host.
constexpr auto slow_crossbar = R"(name = "slow"
[generator]
kind = "crossbar"
hosts = 6
rate = "800 bit/s"
[switch]
latency = "3 s"
[host]
adapters = 2
send_overhead = "500 ms"
receive_overhead = "250 ms"
)";

// Simulates the first phase. Returns the samples, [rank, slot], then the ranks' times.
std::pair<std::vector<double>, std::vector<double>> simulated(std::string_view name, Rank ranks,
                                                              std::int32_t window,
                                                              std::int64_t eager_bytes = 65536,
                                                              std::int32_t rails = 1) {
  const auto network = parse_network(slow_crossbar, "slow.toml");
  const NetworkPaths paths(*network, 1);
  const auto pattern = in_flight(make_pattern(name), window, rails);
  const auto extent = pattern->extent(ranks, 1000);
  PhaseSimulation simulation(paths, {.eager_bytes = eager_bytes, .knee = Knee(), .spread = {}},
                             [] { return false; });
  simulation.run(*pattern->phase(ranks, 1000, 0), ranks, 0, extent.window);
  std::vector<double> messages(static_cast<std::size_t>(ranks * extent.slots));
  std::vector<double> seconds(static_cast<std::size_t>(ranks));
  simulation.samples(extent.slots, messages, seconds);
  return {messages, seconds};
}

}  // namespace

TEST(a_window_s_messages_follow_one_another_on_their_connection) {
  for (const std::int64_t eager_bytes : {0, 1000}) {
    // The first message starts after its overhead, the link is never idle, and the last message's receive
    // ends the window. The answer adds its overhead and comes back.
    const auto [messages, seconds] = simulated("message-rate", 2, 4, eager_bytes);
    CHECK_EQ(messages[1], (0.5 + 4 * 10 + 3 + 0.25) / 4);
    CHECK_EQ(seconds[1], (43.75 + 0.5) / 4);
    CHECK_EQ(seconds[0], (43.75 + 0.5 + 3 + 0.25) / 4);
    for (const double one : simulated("aapc", 3, 4, eager_bytes).first) CHECK_EQ(one, 43.75 / 4);
  }
}

TEST(a_message_over_two_rails_ends_with_its_slower_part) {
  // 512 and 488 bytes; the host's processor starts one part after the other, and takes one after the other.
  const auto [messages, seconds] = simulated("aapc", 2, 1, 0, 2);
  CHECK_EQ(messages[0], 0.5 + 0.5 + 4.88 + 3 + 0.25);
  CHECK_EQ(seconds[0], messages[0]);
  // Without overheads one solve is enough for parts of the same size: 512 bytes each.
  constexpr auto plain = R"(name = "unequal"
[host]
adapters = 2
[[hosts]]
names = "n[0-1]"
[[switches]]
names = ["fast", "slow"]
[[links]]
between = ["n[0-1]", "fast"]
rate = "8 kbit/s"
[[links]]
between = ["n[0-1]", "slow"]
rate = "800 bit/s"
)";
  const auto network = parse_network(plain, "plain.toml");
  const NetworkPaths paths(*network, 1);
  for (const bool events : {false, true}) {
    PhaseSimulation simulation(paths, {.eager_bytes = 0, .knee = Knee(), .spread = {}}, [] { return false; });
    if (events) simulation.use_events_always();
    for (const auto* name : {"aapc", "pingpong"}) {
      const auto pattern = in_flight(make_pattern(name), 1, 2);
      simulation.run(*pattern->phase(2, 1024, 0), 2, 0, 1);
      std::vector<double> one(2), all(2);
      simulation.samples(1, one, all);
      CHECK_EQ(one[0], 5.12);  // the slow rail's, in whichever order they end; half a round trip of two
      CHECK_EQ(all[0], name == std::string_view("aapc") ? 5.12 : 10.24);
    }
  }
}

TEST(every_pattern_s_windows_end_and_leave_the_same_samples) {
  int tried = 0;
  for (const auto* info : patterns()) {
    try {
      const auto alone = simulated(info->name, 6, 1).first, many = simulated(info->name, 6, 5).first,
                 striped = simulated(info->name, 6, 2, 0, 2).first;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        CHECK_EQ(std::isnan(alone[i]), std::isnan(many[i]));
        CHECK_EQ(std::isnan(alone[i]), std::isnan(striped[i]));
      }
      ++tried;
    } catch (const UsageError&) {  // it has a required parameter
    }
  }
  CHECK(tried > 10);
}
