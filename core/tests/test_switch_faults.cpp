// Bad cables: their effect on frames in the wiring, and the list that names them.
#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "tests/check.hpp"
#include "user_switch/lists.hpp"
#include "user_switch/wiring.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::user_switch;

constexpr std::int64_t full_frame = 1514;
constexpr Instant full_frame_time = 1538 * Instant{80'000};  // at 100 Mbit/s

// n0 to n3 on leaf0, n4 to n7 on leaf1, a cable between them.
const std::string two_leaves =
    "name = \"t\"\n[generator]\nkind = \"clos\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 1\n"
    "rate = \"100 Mbit/s\"\n";

std::unique_ptr<Network> network_of(const std::string& text) { return parse_network(text, "test.toml"); }

Instant run_dry(FrameModel& model) {
  while (const auto next = model.next_event()) model.advance(*next);
  return model.delivered().empty() ? -1 : model.delivered().back().due;
}

// Returns the time from now until the last of `frames` back-to-back frames arrives.
Instant taken(Wiring& wiring, Vertex from, Vertex to, int frames, Instant now = 0) {
  for (int i = 0; i < frames; ++i)
    wiring.model().offer(now, 0, full_frame, wiring.way({from, 0}, {to, 0}, 0));
  const auto end = run_dry(wiring.model()) - now;
  wiring.model().delivered().clear();
  return end;
}

// Returns the number of links on the route, each of which takes a frame's time; switches add none.
Instant links(Wiring& wiring, Vertex from, Vertex to) {
  wiring.model().offer(0, 0, full_frame, wiring.way({from, 0}, {to, 0}, 0));
  const auto took = run_dry(wiring.model()) / full_frame_time;
  wiring.model().delivered().clear();
  return took;
}

TEST(a_slow_cable_is_slow_in_the_named_direction_and_fast_again_once_removed) {
  const auto network = network_of(two_leaves);
  Wiring wiring(*network, {.buffer = {}});
  const std::array<CableFault, 1> slow{CableFault{.port = {1, 0}, .in_share = 0.1}};
  wiring.set_faults(slow);
  CHECK_EQ(taken(wiring, 0, 1, 100), full_frame_time * 1001);
  Wiring other(*network, {.buffer = {}});
  other.set_faults(slow);
  CHECK_EQ(taken(other, 1, 0, 100), full_frame_time * 101);
  other.set_faults({});
  const auto begin = 2000 * full_frame_time;
  CHECK_EQ(taken(other, 0, 1, 100, begin), full_frame_time * 101);
}

TEST(a_cable_that_is_slowed_while_it_is_used_is_slow_from_the_next_frame_on) {
  const auto network = network_of(two_leaves);
  Wiring wiring(*network, {.buffer = {}});
  const auto way = wiring.way({0, 0}, {1, 0}, 0);
  for (int i = 0; i < 10; ++i) wiring.model().offer(0, 0, full_frame, way);
  wiring.model().advance(2 * full_frame_time + 1);  // the second frame has just begun to leave the switch
  wiring.set_faults(std::array<CableFault, 1>{CableFault{.port = {1, 0}, .in_share = 0.5}});
  CHECK_EQ(run_dry(wiring.model()), full_frame_time * (3 + 2 * 8));
}

TEST(nothing_comes_earlier_than_promised_when_a_cable_is_fast_again) {
  const auto network = network_of(two_leaves);
  Wiring wiring(*network, {.buffer = {}});
  wiring.set_faults(std::array<CableFault, 1>{CableFault{.port = {1, 0}, .in_share = 0.01}});
  const auto way = wiring.way({0, 0}, {1, 0}, 0);
  wiring.set_faults({});
  for (int i = 0; i < 3; ++i) wiring.model().offer(0, 0, full_frame, way);
  auto& model = wiring.model();
  while (model.delivered().empty()) {
    const auto promised = model.nothing_due_before();
    model.advance(*model.next_event());
    for (const auto& delivery : model.delivered()) CHECK(delivery.due >= promised);
  }
}

TEST(directions_of_a_cable_that_became_half_duplex_share_its_rate) {
  const auto network = network_of(two_leaves);
  Wiring wiring(*network, {.buffer = {}});
  wiring.way({0, 0}, {1, 0}, 0);
  wiring.way({1, 0}, {2, 0}, 0);  // both routes exist before
  wiring.set_faults(std::array<CableFault, 1>{CableFault{.port = {1, 0}, .half_duplex = true}});
  constexpr int frames = 100;
  for (int i = 0; i < frames; ++i) {
    wiring.model().offer(0, 0, full_frame, wiring.way({0, 0}, {1, 0}, 0));
    wiring.model().offer(0, 1, full_frame, wiring.way({1, 0}, {2, 0}, 0));
  }
  CHECK(run_dry(wiring.model()) >= 2 * frames * full_frame_time);
}

TEST(exchanged_cables_lead_to_each_other_s_ports_and_are_found_there) {
  const auto network = network_of(two_leaves);
  const std::array<CableFault, 2> exchange{CableFault{.port = {1, 0}, .place = Port{5, 0}, .is_known = true},
                                           CableFault{.port = {5, 0}, .place = Port{1, 0}, .is_known = true}};
  const auto both_ways = [&](Vertex from, Vertex to, Instant expected) {
    for (const auto& [a, b] : {std::pair{from, to}, std::pair{to, from}}) {
      Wiring fresh(*network, {});
      fresh.set_faults(exchange);
      CHECK_EQ(links(fresh, a, b), expected);
    }
  };
  both_ways(0, 1, 4);
  both_ways(0, 5, 2);
  both_ways(1, 4, 2);
  both_ways(1, 5, 4);
  both_ways(0, 4, 4);
  Wiring lifted(*network, {});
  lifted.set_faults(exchange);
  lifted.set_faults({});
  CHECK_EQ(links(lifted, 0, 1), 2);
}

TEST(a_host_in_a_wrong_port_is_not_found_and_sends_from_there) {
  const auto network = network_of(two_leaves);
  const std::array<CableFault, 1> wrong{CableFault{.port = {1, 0}, .place = Port{5, 0}}};
  const auto sent = [&](Vertex to) {
    Wiring wiring(*network, {});
    wiring.set_faults(wrong);
    return links(wiring, 1, to);
  };
  CHECK_EQ(sent(4), 2);
  CHECK_EQ(sent(5), 2);  // the cable is next to 5's
  CHECK_EQ(sent(0), 4);
  Wiring wiring(*network, {});
  wiring.set_faults(wrong);
  CHECK_THROWS_SAYING(UsageError, "no table knows", wiring.way({0, 0}, {1, 0}, 0));
  // It is a separate cable, not shared with the other's.
  for (int i = 0; i < 100; ++i) {
    wiring.model().offer(0, 0, full_frame, wiring.way({1, 0}, {4, 0}, 0));
    wiring.model().offer(0, 0, full_frame, wiring.way({5, 0}, {6, 0}, 0));
  }
  CHECK_EQ(run_dry(wiring.model()), 101 * full_frame_time);
}

TEST(a_cable_between_two_hosts_is_not_moved) {
  const auto network = network_of(
      "[link]\nrate = \"100 Mbit/s\"\n[[hosts]]\nnames = \"n[0-1]\"\n[[links]]\nbetween = [\"n0\", "
      "\"n1\"]\n");
  Wiring wiring(*network, {});
  const std::array<CableFault, 1> moved{CableFault{.port = {0, 0}, .place = Port{1, 0}}};
  CHECK_THROWS_SAYING(UsageError, "leads to a host", wiring.set_faults(moved));
  CHECK_EQ(links(wiring, 0, 1), 1);
}

TEST(an_outage_is_at_the_beginning_of_each_period) {
  const Outage bursts{.in = true, .lasts = 20, .every = 100};
  CHECK(bursts.is_now(0));
  CHECK(bursts.is_now(19));
  CHECK(!bursts.is_now(20));
  CHECK(!bursts.is_now(99));
  CHECK(bursts.is_now(100));
  CHECK((Outage{.out = true}).is_now(12345));
  CHECK(!Outage{}.is_now(0));
}

TEST(mistakes_in_the_list_of_faults_are_named_with_file_and_line) {
  const auto network = network_of(two_leaves);
  const Wiring wiring(*network, {});
  const auto parse = [&](const std::string& text) { return parse_faults(text, "bad", *network, wiring); };
  CHECK(parse("").empty());
  const auto found = parse(
      "{\"host\": \"n0001\", \"in\": 0.5, \"out\": 1}\n\n"
      "{\"host\": 2, \"lose\": \"in\", \"seconds\": 0.02, \"every\": 1, \"carrier\": true}\n"
      "{\"host\": 3, \"at\": 4, \"known\": true}\n");
  REQUIRE(found.size() == 3);
  CHECK_EQ(found[0].in_share, 0.5);
  CHECK((found[1].outage == Outage{.in = true, .shows = true, .lasts = 20'000'000, .every = 1'000'000'000}));
  CHECK((found[2].place == Port{4, 0} && found[2].is_known));
  const std::string good = "{\"host\": 0, \"half_duplex\": true}\n";
  CHECK_THROWS_SAYING(UsageError, "bad:2: n0000 adapter 0 already has a fault", parse(good + good));
  CHECK_THROWS_SAYING(UsageError, "did you mean half_duplex", parse("{\"host\": 0, \"halfduplex\": true}"));
  CHECK_THROWS_SAYING(UsageError, "a share of the rate", parse("{\"host\": 0, \"in\": 0}"));
  CHECK_THROWS_SAYING(UsageError, "a share of the rate", parse("{\"host\": 0, \"out\": 1.5}"));
  CHECK_THROWS_SAYING(UsageError, "in, out or both", parse("{\"host\": 0, \"lose\": \"all\"}"));
  CHECK_THROWS_SAYING(UsageError, "goes with \"lose\"", parse("{\"host\": 0, \"every\": 1}"));
  CHECK_THROWS_SAYING(UsageError, "go together", parse("{\"host\": 0, \"lose\": \"in\", \"every\": 1}"));
  CHECK_THROWS_SAYING(UsageError, "less than every",
                      parse("{\"host\": 0, \"lose\": \"in\", \"seconds\": 2, \"every\": 1}"));
  CHECK_THROWS_SAYING(UsageError, "the faulty host itself", parse("{\"host\": 0, \"at\": 0}"));
  CHECK_THROWS_SAYING(UsageError, "bad:1: the network has no host", parse("{\"host\": \"x\"}"));
  CHECK_THROWS(UsageError, parse("[1, 2"));
}

TEST(a_damaged_list_of_faults_is_read_or_refused) {
  const auto network = network_of(two_leaves);
  const Wiring wiring(*network, {});
  const std::string good =
      "{\"host\": \"n0001\", \"in\": 0.5}\n{\"host\": 2, \"lose\": \"in\", \"seconds\": 0.02, \"every\": 1}\n"
      "{\"host\": 3, \"at\": 4, \"known\": true}\n";
  Random random(1);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    auto text = good;
    for (int changes = 0; changes < 3; ++changes)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    try {
      parse_faults(text, "bad", *network, wiring);
    } catch (const UsageError&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

}  // namespace
