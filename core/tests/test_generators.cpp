// Generators make connected graphs, with the numbers of their formulas and within the limits of size.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "tests/check.hpp"
#include "tests/generator_cases.hpp"

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

void check_edges(const Graph& graph, const std::string& name) {
  std::vector<int> links(at(graph.vertices()));
  for (const Edge& edge : graph.edges) {
    REQUIRE(edge.a >= 0 && edge.a < graph.vertices() && edge.b >= 0 && edge.b < graph.vertices());
    if (edge.a == edge.b || edge.link_class >= graph.link_classes.size())
      fail(name.c_str(), 0, "a broken edge");
    ++links[at(edge.a)];
    ++links[at(edge.b)];
  }
  for (Vertex host = 0; host < graph.hosts; ++host)
    if (links[at(host)] != graph.host(host).adapters || links[at(host)] < 1)
      fail(name.c_str(), 0,
           "host " + std::to_string(host) + " has " + std::to_string(links[at(host)]) + " links and " +
               std::to_string(graph.host(host).adapters) + " adapters");
}

double figure(const Network& network, std::string_view name) {
  for (const ClosedForms::Figure& each : network.forms.further)
    if (each.name == name) return each.value;
  return std::nan("");
}

}  // namespace

TEST(every_registered_generator_is_tested_and_works_with_its_defaults) {
  for (const GeneratorInfo* info : all_generators()) {
    CHECK(std::ranges::any_of(generator_cases(),
                              [&](const auto& each) { return each.generator == info->name; }));
    CHECK(!info->summary.empty() && !info->source.empty());
    const auto network = made({std::string(info->name), {}});
    network->finish();
    CHECK(network->graph.hosts >= 2);
  }
}

TEST(graphs_are_whole_and_every_vertex_has_its_name_class_level_and_group) {
  for (const GeneratorCase& which : generator_cases()) {
    const std::string name = text_of(which);
    const auto network = made(which);
    const Graph& graph = network->graph;
    check_edges(graph, name);
    CHECK_EQ(graph.switch_names.size(), at(graph.switches));
    CHECK_EQ(graph.level.size(), at(graph.switches));
    CHECK(graph.switch_class.empty() || graph.switch_class.size() == at(graph.switches));
    CHECK(graph.host_class.empty() || graph.host_class.size() == at(graph.hosts));
    CHECK(graph.group.empty() || graph.group.size() == at(graph.vertices()));
    CHECK_EQ(graph.group.empty(), graph.group_word.empty());
    for (const std::uint16_t its : graph.switch_class) CHECK(its < graph.switch_classes.size());
    CHECK(graph.switches == 0 || !graph.switch_classes.empty());
    const std::set<std::string> names(graph.switch_names.begin(), graph.switch_names.end());
    CHECK_EQ(names.size(), graph.switch_names.size());
    for (const LinkClass& link : graph.link_classes)
      CHECK(link.rate > 0 && link.back_rate > 0 && link.cables >= 0);
    const auto found = distances_from(0, graph, leaving_lanes(graph));
    for (const int links : found.links) CHECK(links >= 0);
  }
}

TEST(hosts_declared_alike_see_as_many_others_at_every_distance) {
  for (const GeneratorCase& which : generator_cases()) {
    const auto network = made(which);
    const Graph& graph = network->graph;
    const auto leaving = leaving_lanes(graph);
    std::set<std::vector<int>> views;
    for (Vertex host = 0; host < graph.hosts; ++host) {
      auto links = distances_from(host, graph, leaving).links;
      links.resize(at(graph.hosts));
      std::ranges::sort(links);
      views.insert(links);
    }
    if (network->forms.hosts_alike && views.size() != 1)
      fail(text_of(which).c_str(), 0, "hosts are not alike");
  }
}

TEST(a_fat_tree_of_a_radix_has_the_switches_and_links_of_the_formulas) {
  for (const int k : {2, 4, 8, 16}) {
    // Al-Fares, Loukissas and Vahdat 2008, section 3.1.
    const auto network = made({"fat-tree", {{"radix", std::to_string(k)}}});
    CHECK_EQ(network->graph.hosts, k * k * k / 4);
    CHECK_EQ(network->graph.switches, 5 * k * k / 4);
    CHECK_EQ(network->graph.edges.size(), at(3 * k * k * k / 4));
    REQUIRE(network->forms.bisection.has_value());
    CHECK_EQ(*network->forms.bisection, network->graph.hosts / 2.0 * 100e9);
  }
}

TEST(ports_of_a_fat_tree_switch_are_its_radix) {
  for (const auto& [radix, levels, taper] :
       {std::array{8, 2, 1}, std::array{8, 4, 1}, std::array{12, 3, 2}}) {
    const auto network = made({"fat-tree",
                               {{"radix", std::to_string(radix)},
                                {"levels", std::to_string(levels)},
                                {"taper", std::to_string(taper)}}});
    const Graph& graph = network->graph;
    std::vector<int> ports(at(graph.vertices()));
    for (const Edge& edge : graph.edges) ++ports[at(edge.a)], ++ports[at(edge.b)];
    for (Vertex v = graph.hosts; v < graph.vertices(); ++v) CHECK_EQ(ports[at(v)], radix);
  }
}

TEST(a_taper_gives_the_number_of_spines) {
  const auto spines = [](const Values& values) {
    const auto network = made({"clos", values});
    return std::ranges::count(network->graph.level, 1);
  };
  CHECK_EQ(spines({{"hosts_per_leaf", "32"}, {"rate", "100 Gbit/s"}, {"uplink_rate", "400 Gbit/s"}}), 8);
  CHECK_EQ(spines({{"hosts_per_leaf", "32"}, {"taper", "2"}}), 16);
  CHECK_EQ(spines({{"hosts_per_leaf", "32"}, {"taper", "3"}}), 11);
  CHECK_EQ(spines({{"hosts_per_leaf", "32"}, {"uplinks", "4"}}), 8);
  CHECK_EQ(spines({{"hosts_per_leaf", "3"}, {"spines", "5"}}), 5);
}

TEST(direct_networks_have_as_many_links_as_their_formulas_say) {
  CHECK_EQ(made({"torus", {{"dimensions", "4x5x6"}}})->graph.edges.size(), at(3 * 120));
  CHECK_EQ(made({"torus", {{"dimensions", "4x5x2"}}})->graph.edges.size(), at(2 * 40 + 20));
  CHECK_EQ(made({"torus", {{"dimensions", "4x5"}, {"wrap", "false"}}})->graph.edges.size(),
           at(3 * 5 + 4 * 4));
  CHECK_EQ(made({"hypercube", {{"dimensions", "10"}}})->graph.edges.size(), at(10 * 1024 / 2));
  CHECK_EQ(made({"hyperx", {{"dimensions", "4x5"}, {"hosts_per_switch", "3"}}})->graph.edges.size(),
           at(60 + 5 * 6 + 4 * 10));
  CHECK_EQ(made({"torus", {{"dimensions", "3x4"}}})->graph.host(0).adapters, 4);
  CHECK(made({"torus", {{"dimensions", "3x4"}}})->graph.host(0).forwards == Forwarding::hardware);
}

TEST(dragonfly_groups_share_their_global_links_evenly_and_no_router_has_more_than_h) {
  for (const auto& [a, h, g] :
       {std::array{4, 2, 9}, std::array{4, 2, 5}, std::array{3, 4, 4}, std::array{6, 3, 8}}) {
    const auto network = made(
        {"dragonfly",
         {{"p", "1"}, {"a", std::to_string(a)}, {"h", std::to_string(h)}, {"groups", std::to_string(g)}}});
    const Graph& graph = network->graph;
    std::vector<int> globals(at(graph.vertices()));
    std::map<std::pair<int, int>, int> shared;
    for (const Edge& edge : graph.edges) {
      const int from = graph.group[at(edge.a)], to = graph.group[at(edge.b)];
      if (from == to) continue;
      ++globals[at(edge.a)], ++globals[at(edge.b)];
      ++shared[{from, to}];
    }
    CHECK_EQ(shared.size(), at(g * (g - 1) / 2));
    for (const auto& [pair, links] : shared) CHECK_EQ(links, a * h / (g - 1));
    CHECK(*std::ranges::max_element(globals) <= h);
  }
  // Kim et al. 2008, section 3.1: N = a p (a h + 1).
  CHECK_EQ(made({"dragonfly", {{"p", "3"}}})->graph.hosts, 6 * 3 * 19);
}

TEST(meta_nodes_have_salmons_figures) {
  for (const auto& [L, P, C] :
       {std::array{4, 9, 1}, std::array{10, 9, 1}, std::array{2, 8, 2}, std::array{6, 5, 3}}) {
    const auto network = made(
        {"meta-node",
         {{"meta_nodes", std::to_string(L)}, {"ports", std::to_string(P)}, {"wires", std::to_string(C)}}});
    CHECK_EQ(figure(*network, "edge_weight"), static_cast<double>(P) * C / (L - 1));
    CHECK_EQ(figure(*network, "bisection_per_node"), C / 4.0 * (static_cast<double>(L) / (L - 1)));
    CHECK_EQ(figure(*network, "max_meta_nodes"), P * C + 1.0);
    CHECK_EQ(figure(*network, "max_nodes"), P * (P * C + 1.0));
    CHECK_EQ(figure(*network, "meta_node_diameter"), 1.0);
  }
  CHECK(std::isnan(figure(*made({"meta-node", {{"meta_nodes", "5"}}}), "bisection_per_node")));
  const auto tree = made({"stacked-tree", {{"hosts_per_leaf", "16"}, {"uplinks", "4"}}});
  CHECK_EQ(figure(*tree, "tree_bisection_per_node"), 4.0 / 16);
}

TEST(meta_nodes_are_wired_to_each_other_as_evenly_as_possible) {
  for (int L = 2; L <= 9; ++L)
    for (int P = 1; P <= 7; ++P)
      for (int C = 1; C <= 3; ++C) {
        if (L - 1 > P * C) continue;
        const auto network = made({"meta-node",
                                   {{"meta_nodes", std::to_string(L)},
                                    {"ports", std::to_string(P)},
                                    {"wires", std::to_string(C)}}});
        const Graph& graph = network->graph;
        std::map<std::pair<int, int>, int> weight;
        std::vector<int> ends(at(L)), wires(at(graph.hosts));
        for (const Edge& edge : graph.edges) {
          if (!graph.is_host(edge.b)) continue;
          const auto [low, high] = std::minmax(graph.group[at(edge.a)], graph.group[at(edge.b)]);
          ++weight[{low, high}];
          ++ends[at(low)], ++ends[at(high)], ++wires[at(edge.a)], ++wires[at(edge.b)];
        }
        CHECK_EQ(weight.size(), at(L * (L - 1) / 2));
        int free_ends = 0;
        for (const auto& [pair, count] : weight) {
          CHECK(pair.first != pair.second);
          CHECK(count >= P * C / (L - 1) && count <= (P * C + L - 2) / (L - 1));
        }
        for (const int used : ends) free_ends += P * C - used;
        CHECK_EQ(free_ends, P * C % (L - 1) % 2 == 1 && L % 2 == 1 ? 1 : 0);
        CHECK(*std::ranges::max_element(wires) <= C);
      }
}

TEST(the_published_testbed_has_18_wires_and_three_hosts_at_both_ends_of_every_bundle) {
  // Salmon, Stein and Sterling 1998: four groups of nine; in each, three are wired to three of every other.
  const auto network = made({"meta-node", {{"meta_nodes", "4"}, {"ports", "9"}, {"wires", "1"}}});
  const Graph& graph = network->graph;
  std::map<std::pair<int, int>, std::set<Vertex>> ends;
  int wires = 0;
  for (const Edge& edge : graph.edges) {
    if (!graph.is_host(edge.b)) continue;
    ++wires;
    ends[{graph.group[at(edge.a)], graph.group[at(edge.b)]}].insert(edge.a);
    ends[{graph.group[at(edge.b)], graph.group[at(edge.a)]}].insert(edge.b);
  }
  CHECK_EQ(wires, 18);
  CHECK_EQ(ends.size(), 12);
  for (const auto& [groups, hosts] : ends) CHECK_EQ(hosts.size(), 3);
}

TEST(a_chassis_is_filled_chip_by_chip_and_bounds_its_chips_and_modules) {
  const auto network = made({"module-chassis",
                             {{"modules", "3"},
                              {"asics_per_module", "2"},
                              {"hosts_per_asic", "24"},
                              {"hosts", "128"},
                              {"asic_capacity", "1600 Mbit/s"},
                              {"module_rate", "800 Mbit/s"},
                              {"rate", "100 Mbit/s"}}});
  const Graph& graph = network->graph;
  CHECK_EQ(graph.hosts, 128);
  std::vector<int> on_module(3);
  for (Vertex host = 0; host < graph.hosts; ++host) ++on_module[at(graph.group[at(host)])];
  CHECK_EQ(on_module, (std::vector<int>{48, 48, 32}));
  CHECK_EQ(graph.switch_of(graph.hosts).capacity, 1.6e9);
  CHECK(graph.switch_of(graph.hosts).bounds == Bounds::host_facing);
  CHECK(!network->forms.bisection.has_value());
}

TEST(nothing_larger_than_allowed_is_made) {
  constexpr std::int64_t vertices_max = 2'000;
  for (const GeneratorInfo* info : all_generators())
    for (const Parameter& parameter : info->parameters) {
      std::vector<std::string> values;
      if (parameter.kind == Parameter::Kind::integer)
        for (const double value : {parameter.minimum, 3.0, 97.0, 1e5, parameter.maximum})
          values.push_back(std::to_string(static_cast<std::int64_t>(std::min(value, parameter.maximum))));
      if (parameter.kind == Parameter::Kind::text)
        values = {"",
                  "0",
                  "-1",
                  "x",
                  "1,,2",
                  "9999999999",
                  "1000000000x1000000000x1000000000x1000000000",
                  "2x2x2",
                  "1x1x",
                  "1e9",
                  "4x2",
                  "1"};
      for (const std::string& value : values) {
        try {
          const auto network = made({std::string(info->name), {{std::string(parameter.name), value}}},
                                    Spread::ecmp, vertices_max);
          CHECK(network->graph.vertices() <= vertices_max);
          network->finish();
        } catch (const UsageError& error) {
          CHECK(std::string(error.what()).size() > 10);
        }
      }
    }
}

TEST(inconsistent_values_are_named) {
  const auto fails = [](const GeneratorCase& which, std::string_view part) {
    CHECK_THROWS_SAYING(UsageError, part, made(which));
  };
  fails({"fat-tree", {{"radix", "7"}}}, "radix = 7");
  fails({"fat-tree", {{"down", "4x4"}, {"up", "4x4"}}}, "down has 2 numbers and up 2");
  fails({"fat-tree", {{"down", "4x4"}, {"up", "4"}, {"radix", "8"}}}, "the one or the other");
  fails({"clos", {{"spines", "2"}, {"taper", "2"}}}, "give one");
  fails({"torus", {{"dimensions", "0x4"}}}, "dimensions: \"0\"");
  fails({"torus", {{"dimensions", "1"}}}, "one host");
  fails({"torus", {{"dimensions", "4x2"}, {"one_way", "true"}}}, "at least 3");
  fails({"torus", {{"dimensions", "4x4"}, {"one_way", "true"}, {"wrap", "false"}}}, "needs rings");
  fails({"dragonfly", {{"p", "1"}, {"groups", "100"}}}, "groups = 100");
  fails({"meta-node", {{"meta_nodes", "11"}}}, "P C + 1 = 10");
  fails({"module-chassis", {{"hosts", "1000"}}}, "hosts = 1000");
  fails({"module-chassis", {{"backplane_rate", "1 Gbit/s"}}}, "central");
  fails({"hypercube", {{"dimensions", "30"}}}, "more than");
  fails({"dragonfly", {}, 2}, "adapters = 2");
}
