// The networks included in crosscut: all can be read, and the published ones have the published figures.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "networks/figures.hpp"
#include "networks/network.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::networks;

namespace {

namespace fs = std::filesystem;

const fs::path folder = CROSSCUT_NETWORKS_FOLDER;

std::unique_ptr<Network> catalogued(const std::string& name) {
  return read_network((folder / (name + ".toml")).string());
}

std::set<std::string> all_names() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".toml") names.insert(entry.path().stem().string());
  return names;
}

double price_per_host(const std::string& name) {
  const auto network = catalogued(name);
  const auto found = cost(network->graph);
  return found ? found->total() / network->graph.hosts : 0;
}

// Returns the payload bytes per second between two hosts without other traffic.
double alone(const std::string& name, Vertex source, Vertex destination) {
  const auto network = catalogued(name);
  std::vector<CapacityIndex> uses;
  network->path({.source = source, .destination = destination}, uses);
  double rate = std::numeric_limits<double>::infinity();
  for (const CapacityIndex each : uses)
    rate = std::min(rate, network->capacities()[static_cast<std::size_t>(each)]);
  return rate;
}

// Returns the Mbit/s of all limits on the route from one host to another.
std::set<double> passed(const Network& network, Vertex source, Vertex destination, int adapter = 0) {
  std::vector<CapacityIndex> uses;
  network.path({.source = source,
                .destination = destination,
                .source_adapter = adapter,
                .destination_adapter = adapter},
               uses);
  std::set<double> megabits;
  for (const CapacityIndex each : uses)
    megabits.insert(std::round(network.capacities()[static_cast<std::size_t>(each)] * 8e-6 /
                               network.protocol.efficiency));
  megabits.erase(std::numeric_limits<double>::infinity());
  return megabits;
}

double figure(const Network& network, std::string_view name) {
  for (const auto& each : network.forms.further)
    if (each.name == name) return each.value;
  return std::nan("");
}

}  // namespace

TEST(a_misspelt_file_suggests_those_beside_it) {
  CHECK_THROWS_SAYING(UsageError,
                      "there is no such file; did you mean " + (folder / "xibalba-er16.toml").string(),
                      catalogued("xibalba-er61"));
}

TEST(every_network_of_the_catalogue_is_read_says_where_it_comes_from_and_is_in_the_table) {
  std::ifstream stream(folder / "README.md");
  const std::string readme{std::istreambuf_iterator<char>(stream), {}};
  CHECK(all_names().size() >= 41);
  for (const std::string& name : all_names()) {
    const auto network = catalogued(name);
    CHECK(!network->title.empty() && !network->source.empty());
    CHECK_EQ(network->name, name);
    if (readme.find("| `" + name + "` |") == std::string::npos)
      tests::fail(name.c_str(), 0, "is not in networks/README.md");
    std::vector<CapacityIndex> uses;
    const Vertex last = network->graph.hosts - 1;
    CHECK(network->path({.source = 0, .destination = last}, uses) >= 0);
    CHECK(!uses.empty());
  }
}

TEST(the_networks_of_kurmann_have_the_paper_s_prices) {
  // Section 7.2, US dollars per port.
  const auto near = [](double found, double published) { return std::abs(found - published) < 0.01; };
  CHECK(near(price_per_host("xibalba-maintenance"), 145));
  CHECK(near(price_per_host("xibalba-e7-config1"), 480));
  CHECK(near(price_per_host("xibalba-e7-config2"), 480));
  CHECK(near(price_per_host("xibalba-e7-config3"), 480));
  CHECK(near(price_per_host("xibalba-er16"), 818));
  CHECK(near(price_per_host("xibalba-myrinet"), 1800));
  CHECK(near(price_per_host("xibalba-myrinet-shared") / 2, 900));  // for each of two processors
}

TEST(the_xibalba_networks_are_built_as_published) {
  for (const char* name : {"xibalba-maintenance", "xibalba-e7-config1", "xibalba-e7-config2", "xibalba-er16"})
    CHECK_EQ(catalogued(name)->graph.hosts, 128);
  CHECK_EQ(catalogued("xibalba-e7-config3")->graph.hosts, 64);
  CHECK_EQ(catalogued("xibalba-maintenance")->forms.bisection.value_or(0), 4 * 100e6);
  CHECK_EQ(catalogued("xibalba-e7-config1")->forms.bisection.value_or(0), 4 * 800e6);
  CHECK_EQ(catalogued("xibalba-er16")->forms.bisection.value_or(0), 64 * 100e6);
  // Table 3: (1,2) are on one chip, (1,25) on two chips of a module, (1,49) on two modules.
  const auto config2 = catalogued("xibalba-e7-config2");
  CHECK_EQ(passed(*config2, 0, 1), (std::set<double>{100, 1600}));
  CHECK_EQ(passed(*config2, 0, 24), (std::set<double>{100, 1600}));
  CHECK_EQ(passed(*config2, 0, 48), (std::set<double>{100, 800, 1600}));
}

TEST(streams_into_xibalba_pass_the_trunk_and_the_limits_of_their_receivers) {
  // Figure 7: hosts 0 to 15 are the senders.
  const auto e7 = catalogued("xibalba-e7-streams"), er16 = catalogued("xibalba-er16-streams");
  CHECK_EQ(e7->graph.hosts, 16 + 128);
  CHECK_EQ(er16->graph.hosts, 16 + 128);
  CHECK_EQ(passed(*e7, 0, 16), (std::set<double>{100, 800, 1000, 1600, 2000}));
  CHECK_EQ(passed(*er16, 0, 16), (std::set<double>{100, 1000, 2000}));
  // Among themselves the receivers have the limits of configuration 1.
  const auto config1 = catalogued("xibalba-e7-config1");
  for (const Vertex other : {1, 15, 16, 31, 32, 127})
    CHECK_EQ(passed(*e7, 16, 16 + other), passed(*config1, 0, other));
}

TEST(each_adapter_of_xibalbas_two_ethernets_leads_to_a_network_of_its_own) {
  const auto both = catalogued("xibalba-two-ethernets");
  const auto e7 = catalogued("xibalba-e7-config1"), maintenance = catalogued("xibalba-maintenance");
  for (const Vertex other : {1, 16, 32, 127}) {
    CHECK_EQ(passed(*both, 0, other, 0), passed(*e7, 0, other));
    CHECK_EQ(passed(*both, 0, other, 1), passed(*maintenance, 0, other));
  }
  CHECK_EQ(both->adapter(5, 0, 1, 1), 1);
}

TEST(two_nodes_alone_get_the_published_rates) {
  // Kurmann et al.: 11.3 MByte/s, which must be of 2^20 bytes: of 10^6 it would be 95 % of the frames' limit.
  CHECK(std::abs(alone("xibalba-er16", 0, 127) / 1048576 - 11.3) < 0.05);
  // Bode et al. 2004, Mbit/s. The two Ethernets are computed from their frames and must be close; the others
  // are the paper's own peaks.
  const auto megabits = [](const std::string& name) { return alone("bode-" + name + "-2", 0, 1) * 8e-6; };
  CHECK(std::abs(megabits("gige-broadcom") / 900 - 1) < 0.06);
  CHECK(std::abs(megabits("gige-acenic") / 940 - 1) < 0.06);
  CHECK(std::abs(megabits("myrinet-single") - 1880) < 0.5);
  CHECK(std::abs(megabits("myrinet-dual") - 3750) < 0.5);
  CHECK(std::abs(megabits("sci") - 1830) < 0.5);
  CHECK(std::abs(megabits("quadrics-qsnet2") - 6370) < 0.5);
  CHECK(std::abs(megabits("infiniband-4x") - 5900) < 0.5);
  CHECK(std::abs(megabits("infiniband-infinicon") - 6750) < 0.5);
  CHECK(std::abs(megabits("myrinet-single-tcp") - 1880) < 0.5);
  CHECK(std::abs(megabits("myrinet-dual-tcp") - 3500) < 0.5);
  CHECK(std::abs(megabits("sci-tcp") - 900) < 0.5);
  CHECK(std::abs(megabits("10gige") - 3700) < 0.5);
}

TEST(two_nodes_get_the_same_rates_in_the_large_network) {
  for (const std::string name : {"gige-acenic", "gige-broadcom", "myrinet-single", "myrinet-dual", "sci",
                                 "quadrics-qsnet2", "infiniband-4x", "10gige"}) {
    const std::string size = name == "10gige" ? "-48" : "-64";
    CHECK_EQ(catalogued("bode-" + name + size)->graph.hosts, name == "10gige" ? 48 : 64);
    CHECK_EQ(alone("bode-" + name + size, 0, 47), alone("bode-" + name + "-2", 0, 1));
  }
}

TEST(the_routed_beowulf_has_salmons_figures_and_at_most_two_gateways_per_route) {
  const auto network = catalogued("beowulf-routed-4x9");
  CHECK_EQ(figure(*network, "edge_weight"), 3.0);
  CHECK_EQ(figure(*network, "bisection_per_node"), 1.0 / 3);
  CHECK_EQ(figure(*network, "max_meta_nodes"), 10.0);
  CHECK_EQ(figure(*network, "max_nodes"), 90.0);
  std::vector<Lane> lanes;
  for (Vertex source = 0; source < 36; ++source)
    for (Vertex destination = 0; destination < 36; ++destination) {
      if (source == destination) continue;
      lanes.clear();
      network->router->route({.source = source, .destination = destination}, lanes);
      int gateways = 0;
      for (const Lane lane : lanes) gateways += network->graph.is_host(network->graph.tail(lane)) ? 1 : 0;
      CHECK(gateways - 1 <= 2);
    }
}

TEST(the_networks_of_today_have_the_sizes_of_their_names) {
  for (const auto& [name, hosts] : {std::pair{"fat-tree-1024", 1024},
                                    {"fat-tree-10240", 10240},
                                    {"fat-tree-65536", 65536},
                                    {"fat-tree-1m", 1000000},
                                    {"dragonfly-10k", 9702},
                                    {"rail-optimised-gpu", 128}})
    CHECK_EQ(catalogued(name)->graph.hosts, hosts);
  const auto ports = [](const std::string& name) {
    const auto network = catalogued(name);
    std::vector<int> wired(static_cast<std::size_t>(network->graph.vertices()));
    for (const Edge& edge : network->graph.edges)
      ++wired[static_cast<std::size_t>(edge.a)], ++wired[static_cast<std::size_t>(edge.b)];
    return *std::max_element(wired.begin() + network->graph.hosts, wired.end());
  };
  CHECK_EQ(ports("leaf-spine-100g-64"), 64);
  CHECK_EQ(ports("leaf-spine-400g-64"), 64);
  CHECK(ports("leaf-spine-100g-2to1") <= 64);
  CHECK_EQ(ports("fat-tree-65536"), 64);
  CHECK_EQ(ports("rail-optimised-gpu"), 64);
  const auto tapered = catalogued("leaf-spine-100g-2to1");
  CHECK_EQ(*tapered->forms.bisection, tapered->graph.hosts / 4.0 * 100e9);
}
