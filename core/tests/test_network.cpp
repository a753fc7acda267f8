// A network's capacities, latencies and routes.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.hpp"
#include "networks/network.hpp"
#include "networks/routers.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::networks;

namespace {

std::unique_ptr<Network> parsed(const std::string& text) { return parse_network(text, "test.toml", 100'000); }

std::vector<std::string> used(const Network& network, RouteRequest request, double* seconds = nullptr) {
  std::vector<CapacityIndex> uses;
  const double latency = network.path(request, uses);
  if (seconds != nullptr) *seconds = latency;
  std::vector<std::string> names;
  for (const auto index : uses) names.push_back(network.capacity_name(index));
  return names;
}

using Names = std::vector<std::string>;

// Two ASICs of two hosts each, joined without a limit, and a third host class with memory.
const std::string asics = R"(
[host]
memory_rate = "800 Mbit/s"
memory_latency = "2 us"
[protocol]
mtu = 1500
headers = 40
framing = 38
[[hosts]]
names = "n[0-3]"
[[switches]]
names = "asic[0-1]"
capacity = "160 Mbit/s"
latency = "10 us"
[[links]]
between = ["n[0-1]", "asic0"]
rate = "100 Mbit/s"
latency = "1 us"
[[links]]
between = ["n[2-3]", "asic1"]
rate = "100 Mbit/s"
latency = "1 us"
[[links]]
between = ["asic0", "asic1"]
rate = "1 Gbit/s"
back_rate = "500 Mbit/s"
)";

}  // namespace

TEST(a_switch_of_its_own_capacity_bounds_what_enters_from_hosts_and_what_leaves_to_them_apart) {
  const auto network = parsed(asics);
  double seconds = 0;
  CHECK_EQ(used(*network, {.source = 0, .destination = 1}, &seconds),
           (Names{"n0 -> asic0", "asic0 from its hosts", "asic0 to its hosts", "asic0 -> n1"}));
  CHECK(std::abs(seconds - 12e-6) < 1e-12);
  CHECK_EQ(
      used(*network, {.source = 0, .destination = 3}, &seconds),
      (Names{"n0 -> asic0", "asic0 from its hosts", "asic0 -> asic1", "asic1 to its hosts", "asic1 -> n3"}));
  CHECK(std::abs(seconds - 22e-6) < 1e-12);
}

TEST(capacities_are_payload_bytes_per_second) {
  const auto network = parsed(asics);
  const double share = 1460.0 / 1538.0;  // TCP in Ethernet frames
  std::map<std::string, double> by_name;
  for (std::size_t i = 0; i < network->capacities().size(); ++i)
    by_name[network->capacity_name(static_cast<CapacityIndex>(i))] = network->capacities()[i];
  CHECK_EQ(by_name.at("n0 -> asic0"), 12.5e6 * share);
  CHECK_EQ(by_name.at("asic0 -> asic1"), 125e6 * share);
  CHECK_EQ(by_name.at("asic1 -> asic0"), 62.5e6 * share);
  CHECK_EQ(by_name.at("asic1 from its hosts"), 20e6 * share);
  CHECK_EQ(by_name.at("memory of n2"), 100e6);  // no frames within a host
}

TEST(a_message_within_a_host_passes_its_memory_alone) {
  const auto network = parsed(asics);
  double seconds = 0;
  CHECK_EQ(used(*network, {.source = 2, .destination = 2}, &seconds), (Names{"memory of n2"}));
  CHECK_EQ(seconds, 2e-6);
}

TEST(a_bus_counts_each_message_once_and_a_half_duplex_link_both_directions_on_one) {
  const auto network = parsed(R"(
[[hosts]]
names = "n[0-2]"
[[switches]]
names = "bus"
capacity = "10 Mbit/s"
bounds = "through"
[[links]]
between = ["n[0-2]", "bus"]
rate = "100 Mbit/s"
half_duplex = true
)");
  CHECK_EQ(used(*network, {.source = 0, .destination = 2}), (Names{"n0 <-> bus", "bus", "n2 <-> bus"}));
  CHECK_EQ(used(*network, {.source = 2, .destination = 0}), (Names{"n2 <-> bus", "bus", "n0 <-> bus"}));
  std::vector<CapacityIndex> out, back;
  network->path({.source = 0, .destination = 2}, out);
  network->path({.source = 2, .destination = 0}, back);
  CHECK_EQ(out.front(), back.back());
  CHECK_EQ(network->capacities()[static_cast<std::size_t>(out.front())], 12.5e6);
}

TEST(cables_are_pooled_into_one_capacity_or_spread_by_flow) {
  const std::string text = R"(
[[hosts]]
names = "n[0-1]"
[[switches]]
names = "s[0-1]"
[[links]]
between = ["n[0-1]", "s[0-1]"]
rate = "1 Gbit/s"
[[links]]
between = ["s0", "s1"]
rate = "1 Gbit/s"
cables = 4
)";
  const auto pooled = parsed(text);
  CHECK_EQ(pooled->graph.edges.size(), 3);
  CHECK_EQ(pooled->graph.link_classes[pooled->graph.edges.back().link_class].rate, 4e9);
  const auto spread = parsed(text + "spread = \"flow\"\n");
  CHECK_EQ(spread->graph.edges.size(), 6);
  std::map<Lane, int> taken;
  std::vector<Lane> lanes;
  for (std::uint64_t key = 0; key < 4000; ++key) {
    lanes.clear();
    spread->router->route({.source = 0, .destination = 1, .key = key}, lanes);
    REQUIRE(lanes.size() == 3);
    ++taken[lanes[1]];
  }
  CHECK_EQ(taken.size(), 4);
  for (const auto& [lane, flows] : taken) CHECK(flows > 850 && flows < 1150);  // 1000 +- 5 sigma
}

TEST(destination_modulo_chooses_by_the_destination_alone) {
  const auto network = parsed(R"(
[routing]
spread = "destination-modulo"
[[hosts]]
names = "n[00-15]"
[[switches]]
names = "leaf[0-3]"
[[switches]]
names = "spine[0-3]"
[[links]]
between = [["n00","n01","n02","n03"], "leaf0"]
rate = "1 Gbit/s"
[[links]]
between = ["n[04-07]", "leaf1"]
rate = "1 Gbit/s"
[[links]]
between = ["n[08-11]", "leaf2"]
rate = "1 Gbit/s"
[[links]]
between = ["n[12-15]", "leaf3"]
rate = "1 Gbit/s"
[[links]]
between = ["leaf0", "spine[0-3]"]
rate = "1 Gbit/s"
[[links]]
between = ["leaf1", "spine[0-3]"]
rate = "1 Gbit/s"
[[links]]
between = ["leaf2", "spine[0-3]"]
rate = "1 Gbit/s"
[[links]]
between = ["leaf3", "spine[0-3]"]
rate = "1 Gbit/s"
)");
  std::vector<Lane> lanes;
  for (Vertex source = 0; source < 16; ++source) {
    for (Vertex destination = 0; destination < 16; ++destination) {
      if (source / 4 == destination / 4) continue;
      for (std::uint64_t key = 0; key < 3; ++key) {
        lanes.clear();
        network->router->route({.source = source, .destination = destination, .key = key}, lanes);
        REQUIRE(lanes.size() == 4);
        CHECK_EQ(network->graph.name(network->graph.head(lanes[1])),
                 "spine" + std::to_string(destination % 4));
      }
    }
  }
}

TEST(an_adapter_that_is_asked_for_is_the_first_and_the_last_link) {
  // Two rails that meet only in the hosts.
  const auto network = parsed(R"(
[host]
adapters = 2
[[hosts]]
names = "n[0-3]"
[[switches]]
names = "rail[0-1]"
[[links]]
between = ["n[0-3]", "rail0"]
rate = "1 Gbit/s"
[[links]]
between = ["n[0-3]", "rail1"]
rate = "1 Gbit/s"
)");
  for (int rail = 0; rail < 2; ++rail) {
    const auto name = "rail" + std::to_string(rail);
    CHECK_EQ(
        used(*network, {.source = 0, .destination = 3, .source_adapter = rail, .destination_adapter = rail}),
        (Names{"n0 -> " + name, name + " -> n3"}));
    // The other adapter cannot be reached from this one, so the source's rail is kept.
    CHECK_EQ(used(*network,
                  {.source = 0, .destination = 3, .source_adapter = rail, .destination_adapter = 1 - rail}),
             (Names{"n0 -> " + name, name + " -> n3"}));
  }
  CHECK_EQ(network->adapter(0, 0, 1, 0), 0);
  CHECK_EQ(network->adapter(0, 0, 1, 1), 1);
  CHECK_EQ(network->adapter(0, 0, 2, 0), 0);
  CHECK_EQ(network->adapter(0, 1, 2, 0), 1);
  CHECK_EQ(network->adapter(0, 3, 4, 0), 1);
}

TEST(static_routes_lead_where_they_say_and_the_rest_goes_the_shortest_way) {
  const std::string ring = R"(
[routing]
kind = "static"
[[hosts]]
names = "n[0-3]"
[[switches]]
names = "s[0-3]"
[[links]]
between = ["n[0-3]", "s[0-3]"]
rate = "1 Gbit/s"
[[links]]
between = ["s[0-3]", ["s1", "s2", "s3", "s0"]]
rate = "1 Gbit/s"
)";
  const auto network = parsed(ring + "[[route]]\nat = \"s0\"\nto = \"n1\"\nvia = \"s3\"\n" +
                              "[[route]]\nat = [\"s3\", \"s2\"]\nto = \"n1\"\nvia = [\"s2\", \"s1\"]\n");
  CHECK_EQ(used(*network, {.source = 0, .destination = 1}),
           (Names{"n0 -> s0", "s0 -> s3", "s3 -> s2", "s2 -> s1", "s1 -> n1"}));
  CHECK_EQ(used(*network, {.source = 1, .destination = 0}), (Names{"n1 -> s1", "s1 -> s0", "s0 -> n0"}));
  CHECK_THROWS_SAYING(UsageError, "loop",
                      parsed(ring + "[[route]]\nat = \"s0\"\nto = \"n1\"\nvia = \"s3\"\n" +
                             "[[route]]\nat = \"s3\"\nto = \"n1\"\nvia = \"s0\"\n"));
}

TEST(hosts_that_do_not_forward_are_not_passed_through) {
  const std::string chain = R"([[hosts]]
names = "n[0-2]"
[[links]]
between = ["n0", "n1"]
rate = "1 Gbit/s"
[[links]]
between = ["n1", "n2"]
rate = "1 Gbit/s"
)";
  CHECK_THROWS_SAYING(UsageError, "no path leads from n0 to n2", parsed(chain));
  const auto network = parsed("[host]\nforwards = \"hardware\"\nforward_latency = \"3 us\"\n" + chain);
  double seconds = 0;
  CHECK_EQ(used(*network, {.source = 0, .destination = 2}, &seconds), (Names{"n0 -> n1", "n1 -> n2"}));
  CHECK_EQ(seconds, 3e-6);
}

TEST(names_of_hosts_are_made_as_long_as_the_largest_number) {
  const auto small = parsed("[generator]\nkind = \"crossbar\"\nrate = \"1 Gbit/s\"\nhosts = 3\n");
  CHECK_EQ(small->graph.name(2), "n0002");
  const auto large = parsed("[generator]\nkind = \"crossbar\"\nrate = \"1 Gbit/s\"\nhosts = 50_000\n");
  CHECK_EQ(large->graph.name(2), "n00002");
}
