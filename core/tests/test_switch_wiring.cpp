// Network descriptions as stations and ways; frames, lists and options from outside.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "tests/check.hpp"
#include "user_switch/ethernet.hpp"
#include "user_switch/lists.hpp"
#include "user_switch/options.hpp"
#include "user_switch/spread_counter.hpp"
#include "user_switch/wiring.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::user_switch;

constexpr std::int64_t full_frame = 1514;

std::unique_ptr<Network> network_of(const std::string& text) { return parse_network(text, "test.toml"); }

const std::string two_leaves =
    "name = \"t\"\n[generator]\nkind = \"clos\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\n"
    "rate = \"100 Mbit/s\"\n[switch]\nlatency = \"10 us\"\n[link]\nlatency = \"1 us\"\n";
const std::string chassis =
    "name = \"e\"\n[generator]\nkind = \"module-chassis\"\nmodules = 2\nasics_per_module = 1\n"
    "hosts_per_asic = 4\nrate = \"100 Mbit/s\"\nasic_capacity = \"200 Mbit/s\"\nmodule_rate = \"400 "
    "Mbit/s\"\n";

Instant run_dry(FrameModel& model) {
  while (const auto next = model.next_event()) model.advance(*next);
  return model.delivered().empty() ? -1 : model.delivered().back().due;
}

TEST(a_frame_takes_the_latency_of_its_route_and_a_serialisation_per_link) {
  const auto network = network_of(two_leaves);
  Wiring wiring(*network, {});
  for (Vertex to = 1; to < network->graph.hosts; ++to) {
    std::vector<CapacityIndex> uses;
    const double latency = network->path({.source = 0, .destination = to, .key = 7}, uses);
    Wiring fresh(*network, {});
    fresh.model().offer(0, 0, full_frame, fresh.way({0, 0}, {to, 0}, 7));
    const double expected = latency + static_cast<double>(uses.size()) * 1538 * 8 / 100e6;
    CHECK(std::abs(static_cast<double>(run_dry(fresh.model())) / instants_per_second - expected) < 1e-9);
  }
}

TEST(flows_are_spread_over_equal_routes_and_each_keeps_its_route) {
  const auto network = network_of(two_leaves);
  Wiring wiring(*network, {});
  std::set<PathId> ways;
  for (std::uint64_t flow = 0; flow < 64; ++flow) {
    ways.insert(wiring.way({0, 0}, {5, 0}, flow));
    CHECK_EQ(wiring.way({0, 0}, {5, 0}, flow), wiring.way({0, 0}, {5, 0}, flow));
  }
  CHECK_EQ(ways.size(), 64u);  // each waits by itself in its host,
  const auto links = wiring.passed().size();
  wiring.way({0, 0}, {1, 0}, 3);
  wiring.way({0, 0}, {1, 0}, 4);
  CHECK_EQ(wiring.passed().size(),
           links + 1);  // one leaf: one way, whose first link is counted already
  CHECK_EQ(links, 6u);  // out of and into a host, and up and down at each of two spines
}

// Four hosts of a chip send to those of another module, long enough that only the bottleneck counts.
double rate_out_of_chip(bool cut_through) {
  const auto network = network_of(chassis);
  Wiring wiring(*network, {.cut_through = cut_through, .buffer = {}});
  constexpr int frames = 2000;
  for (int i = 0; i < frames; ++i)
    for (Vertex from = 0; from < 4; ++from)
      wiring.model().offer(0, 0, full_frame, wiring.way({from, 0}, {from + 4, 0}, 0));
  const auto seconds = static_cast<double>(run_dry(wiring.model())) / instants_per_second;
  CHECK_EQ(wiring.model().delivered().size(), std::size_t{4 * frames});
  return 4 * frames * 1538.0 * 8 / seconds;
}

TEST(a_chip_s_capacity_limits_the_traffic_of_its_four_hosts) {
  for (const bool cut_through : {false, true}) {
    const double rate = rate_out_of_chip(cut_through);
    CHECK(rate < 200e6);
    CHECK(rate > 199.5e6);
  }
}

TEST(both_directions_of_a_half_duplex_link_share_its_rate) {
  const auto network = network_of(
      "[link]\nrate = \"100 Mbit/s\"\nhalf_duplex = true\n[[hosts]]\nnames = \"n[0-1]\"\n[[links]]\n"
      "between = [\"n0\", \"n1\"]\n");
  Wiring wiring(*network, {});
  for (int i = 0; i < 100; ++i) {
    wiring.model().offer(0, 0, full_frame, wiring.way({0, 0}, {1, 0}, 0));
    wiring.model().offer(0, 1, full_frame, wiring.way({1, 0}, {0, 0}, 0));
  }
  CHECK_EQ(run_dry(wiring.model()), 200 * 1538 * Instant{80'000});
  for (std::size_t i = 0; i < 200; ++i) CHECK_EQ(wiring.model().delivered()[i].handle, i % 2);
}

TEST(a_frame_addressed_over_a_wire_between_two_hosts_takes_that_wire) {
  const auto network = network_of(
      "[host]\nadapters = 2\nforwards = \"ip\"\n[link]\nrate = \"100 Mbit/s\"\n[[hosts]]\nnames = "
      "\"n[0-2]\"\n"
      "[[links]]\nbetween = [\"n0\", \"n1\"]\n[[links]]\nbetween = [\"n1\", \"n2\"]\n"
      "[[links]]\nbetween = [\"n2\", \"n0\"]\n");
  Wiring wiring(*network, {});
  wiring.model().offer(0, 0, full_frame, wiring.way({0, 1}, {2, 1}, 0));
  CHECK_EQ(run_dry(wiring.model()), 1538 * Instant{80'000});
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(no_frame_however_short_or_odd_is_read_beyond_its_end) {
  Random random(1);
  for (std::size_t size = 0; size < 90; ++size) {
    for (int i = 0; i < 200; ++i) {
      // Exactly this size on the heap, so that the sanitizer detects reads beyond it.
      std::vector<std::byte> frame(size);
      for (auto& byte : frame) byte = static_cast<std::byte>(random.below(256));
      if (size > 13) frame[12] = std::byte{8}, frame[13] = static_cast<std::byte>(i % 2 == 0 ? 0 : 6);
      CHECK_EQ(receiver_of(frame).has_value(), size >= header_bytes);
      flow_of(frame);
      if (const auto asked = asked_for(frame)) CHECK_EQ(arp_answer(frame, {}).size(), 42u);
    }
  }
}

TEST(frames_of_a_connection_are_one_flow_and_other_ports_another) {
  auto frame =
      bytes_of({2, 0xcc, 0, 0,  0, 1, 2, 0xcc, 0, 0, 0, 0,    8,    0,    0x45, 0, 0, 40, 1, 2, 0, 0, 64,
                6, 0,    0, 10, 0, 0, 1, 10,   0, 0, 2, 0x12, 0x34, 0x14, 0x51, 0, 0, 0,  1, 0, 0, 0, 0});
  const auto flow = flow_of(frame);
  frame[18] = std::byte{99};  // identification: differs from packet to packet
  frame[38] = std::byte{77};  // sequence number
  CHECK_EQ(flow_of(frame), flow);
  frame[35] = std::byte{1};  // source port
  CHECK(flow_of(frame) != flow);
}

TEST(an_arp_request_is_answered_with_the_owner) {
  auto question =
      bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0xcc, 0, 0, 0, 0, 8, 6, 0, 1, 8, 0,  6, 4, 0,
                1,    2,    0xcc, 0,    0,    0,    0, 10,   0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2});
  const auto asked = asked_for(question);
  REQUIRE(asked.has_value());
  CHECK(*asked == (Ipv4{10, 0, 0, 2}));
  const auto answer = arp_answer(question, default_mac(1, 0));
  CHECK(answer == bytes_of({2, 0xcc, 0,    0, 0, 0, 2, 0xcc, 0, 0, 0, 1, 8,    6, 0, 1, 8, 0,  6, 4, 0,
                            2, 2,    0xcc, 0, 0, 0, 1, 10,   0, 0, 2, 2, 0xcc, 0, 0, 0, 0, 10, 0, 0, 1}));
  CHECK(!asked_for(answer).has_value());
}

TEST(mistakes_in_the_list_of_taps_are_named_with_file_and_line) {
  const auto network = network_of(two_leaves);
  const Wiring wiring(*network, {});
  const auto parse = [&](const std::string& text) { return parse_taps(text, "taps", *network, wiring); };
  const std::string good = "{\"host\": 0, \"netns\": \"/run/netns/a\", \"tap\": \"eth0\"}\n";
  const auto entries = parse(good + "\nwhat follows an empty line is not read");
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].mac == default_mac(0, 0));
  CHECK_THROWS_SAYING(UsageError, "taps:2: n0000 adapter 0 already has a TAP", parse(good + good));
  CHECK_THROWS_SAYING(UsageError, "taps:1: the network has no host \"x\"", parse("{\"host\": \"x\"}"));
  CHECK_THROWS_SAYING(UsageError, "hosts are numbered 0 to 7", parse("{\"host\": 8}"));
  CHECK_THROWS_SAYING(UsageError, "has no adapter 1; it has 1, numbered from 0",
                      parse("{\"host\": 1, \"adapter\": 1}"));
  CHECK_THROWS_SAYING(UsageError, "did you mean netns", parse("{\"host\": 1, \"netn\": \"/x\"}"));
  CHECK_THROWS_SAYING(UsageError, "is not an absolute path",
                      parse("{\"host\":1,\"netns\":\"a\",\"tap\":\"t\"}"));
  CHECK_THROWS_SAYING(UsageError, "is not the name of an interface",
                      parse("{\"host\":1,\"netns\":\"/a\",\"tap\":\"a/../bcdefghijklmn\"}"));
  CHECK_THROWS_SAYING(UsageError, "address of a group",
                      parse("{\"host\":1,\"netns\":\"/a\",\"tap\":\"t\",\"mac\":\"ff:ff:ff:ff:ff:ff\"}"));
  CHECK_THROWS_SAYING(UsageError, "names no TAP", parse("\n"));
  CHECK_THROWS(UsageError, parse("[1, 2"));
}

TEST(addresses_are_read_strictly) {
  CHECK(parse_mac("02:CC:00:00:00:0f") == (Mac{2, 0xcc, 0, 0, 0, 15}));
  for (const char* wrong : {"", "02:cc:00:00:00", "02:cc:00:00:00:0g", "02:cc:00:00:00:01:",
                            "0x:cc:00:00:00:01", "2:cc:00:00:00:0001", "::::::::::::::::."})
    CHECK_THROWS(UsageError, parse_mac(wrong));
  CHECK(parse_ipv4("10.0.0.255") == (Ipv4{10, 0, 0, 255}));
  for (const char* wrong : {"", "10.0.0", "10.0.0.256", "10.0.0.1.", "10.0.0.-1", "a.b.c.d", "1000.0.0.1"})
    CHECK_THROWS(UsageError, parse_ipv4(wrong));
}

TEST(wrong_options_are_named) {
  const auto parse = [](std::vector<std::string> words) {
    words.insert(words.begin(), "crosscut-switch");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    return parse_options(static_cast<int>(argv.size()), argv.data());
  };
  const auto options = parse({"net.toml", "--taps", "-", "--forwarding", "cut", "--buffer", "64KiB"});
  CHECK(options.how.cut_through);
  CHECK_EQ(options.how.buffer.bytes_max, 65536);
  CHECK_THROWS_SAYING(UsageError, "--taps", parse({"net.toml"}));
  CHECK_THROWS_SAYING(UsageError, "did you mean --buffer", parse({"--bufer", "1"}));
  CHECK_THROWS_SAYING(UsageError, "--queues \"both\": must be output or input", parse({"--queues", "both"}));
  CHECK_THROWS_SAYING(UsageError, "--mtu needs a value", parse({"--mtu"}));
  CHECK_THROWS_SAYING(UsageError, "--framing \"-1\": must be from 0", parse({"--framing", "-1"}));
  CHECK_THROWS_SAYING(UsageError, "one network", parse({"a", "b"}));
}

TEST(quantiles_are_right_to_within_a_sixteenth) {
  SpreadCounter counter;
  for (int i = 1; i <= 10'000; ++i) counter.add(i);
  CHECK(std::abs(counter.quantile_seconds(0.5) - 5000e-9) <= 5000e-9 / 16);
  CHECK(std::abs(counter.quantile_seconds(0.99) - 9900e-9) <= 9900e-9 / 16);
  CHECK_EQ(counter.quantile_seconds(1), 10'000e-9);
  CHECK_EQ(counter.largest_seconds(), 10'000e-9);
  counter.add(std::numeric_limits<std::int64_t>::max());
  CHECK(counter.quantile_seconds(1) > 9e9);
  CHECK_EQ(SpreadCounter().quantile_seconds(0.5), 0.0);
}

}  // namespace
