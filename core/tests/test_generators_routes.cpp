// Routes computed from coordinates, compared with a search of the graph.
#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/random.hpp"
#include "tests/check.hpp"
#include "tests/generator_cases.hpp"

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::vector<Lane> way(const Network& network, const RouteRequest& request) {
  std::vector<Lane> lanes;
  network.router->route(request, lanes);
  return lanes;
}

// Returns an empty string for a route from source to destination through vertices that forward.
std::string broken(const Graph& graph, const RouteRequest& request, const std::vector<Lane>& lanes) {
  if (lanes.empty()) return "has no lane";
  Vertex here = request.source;
  for (const Lane lane : lanes) {
    if (lane < 0 || at(lane / 2) >= graph.edges.size()) return "has a lane that there is not";
    if (graph.tail(lane) != here) return "jumps";
    if (here != request.source && graph.is_host(here) && graph.host(here).forwards == Forwarding::no)
      return "leads through a host that does not forward";
    here = graph.head(lane);
  }
  return here == request.destination ? "" : "ends elsewhere";
}

// Kim et al. 2008: minimal routes have at most one global link, although two might mean fewer links in all.
bool is_shortest(const GeneratorCase& which) { return which.generator != "dragonfly"; }

// All equally short routes are used, not only those of one order of dimensions.
bool uses_all_ways(const GeneratorCase& which) {
  const std::string& kind = which.generator;
  if (kind == "hyperx") return which.values.contains("order");
  return kind == "fat-tree" || kind == "clos" || kind == "stacked-tree";
}

template <typename Body>
void for_all_pairs(const Network& network, Body body) {
  for (Vertex source = 0; source < network.graph.hosts; ++source)
    for (Vertex destination = 0; destination < network.graph.hosts; ++destination)
      if (source != destination) body(RouteRequest{.source = source, .destination = destination});
}

}  // namespace

TEST(arithmetic_ways_are_whole_and_as_short_as_the_graph_allows) {
  int checked = 0;
  for (const GeneratorCase& which : generator_cases())
    for (const Spread spread : {Spread::ecmp, Spread::destination_modulo}) {
      const auto network = made(which, spread);
      if (!network->router) continue;
      ++checked;
      const auto leaving = leaving_lanes(network->graph);
      std::vector<Distances> from;
      for (Vertex host = 0; host < network->graph.hosts; ++host)
        from.push_back(distances_from(host, network->graph, leaving));
      for_all_pairs(*network, [&](RouteRequest request) {
        for (request.key = 0; request.key < 3; ++request.key) {
          const std::vector<Lane> lanes = way(*network, request);
          const std::string problem = broken(network->graph, request, lanes);
          if (!problem.empty()) fail(text_of(which).c_str(), 0, "a way " + problem);
          const int shortest = from[at(request.source)].links[at(request.destination)];
          if (is_shortest(which)) CHECK_EQ(static_cast<int>(lanes.size()), shortest);
          CHECK(static_cast<int>(lanes.size()) >= shortest && lanes.size() <= 24);
        }
      });
    }
  CHECK(checked >= 50);
}

TEST(dragonfly_ways_take_one_global_link_and_two_local_ones_at_most) {
  for (const GeneratorCase& which : generator_cases()) {
    if (which.generator != "dragonfly") continue;
    const auto network = made(which);
    const Graph& graph = network->graph;
    for_all_pairs(*network, [&](const RouteRequest& request) {
      int local = 0, global = 0;
      for (const Lane lane : way(*network, request)) {
        if (graph.is_host(graph.tail(lane)) || graph.is_host(graph.head(lane))) continue;
        ++(graph.group[at(graph.tail(lane))] == graph.group[at(graph.head(lane))] ? local : global);
      }
      const bool apart = graph.group[at(request.source)] != graph.group[at(request.destination)];
      CHECK_EQ(global, apart ? 1 : 0);
      CHECK(local <= (apart ? 2 : 1));
    });
  }
}

TEST(flows_of_one_pair_use_every_equally_short_way) {
  for (const GeneratorCase& which : generator_cases()) {
    if (!uses_all_ways(which)) continue;
    const auto network = made(which);
    const auto leaving = leaving_lanes(network->graph);
    for (const Vertex source : {Vertex{0}, network->graph.hosts / 2}) {
      const Distances found = distances_from(source, network->graph, leaving);
      for (Vertex destination = 0; destination < network->graph.hosts; ++destination) {
        if (destination == source) continue;
        const auto ways = found.ways[at(destination)];
        std::set<std::vector<Lane>> used;
        // With 20 draws per route, a route is missed with a probability of e^-20.
        for (std::uint64_t key = 0; key < static_cast<std::uint64_t>(20 * ways); ++key)
          used.insert(way(*network, {.source = source, .destination = destination, .key = key}));
        if (std::cmp_not_equal(used.size(), ways))
          fail(text_of(which).c_str(), 0,
               std::to_string(used.size()) + " of " + std::to_string(ways) + " ways are used");
      }
    }
  }
}

TEST(both_directions_round_a_ring_are_used_if_equally_long) {
  const auto network = made({"ring", {{"length", "8"}}});
  std::set<Lane> first;
  for (std::uint64_t key = 0; key < 64; ++key)
    first.insert(way(*network, {.source = 0, .destination = 4, .key = key}).front());
  CHECK_EQ(first.size(), 2);
}

TEST(equally_short_ways_are_used_about_equally) {
  const auto network = made({"clos", {{"leaves", "2"}, {"hosts_per_leaf", "8"}}});
  std::map<Lane, int> uses;
  constexpr int flows = 8000;
  for (std::uint64_t key = 0; key < flows; ++key)
    ++uses[way(*network, {.source = 1, .destination = 9, .key = key})[1]];
  CHECK_EQ(uses.size(), 8);
  // 1000 are expected of each; five standard deviations of the binomial distribution are 148.
  for (const auto& [lane, count] : uses) CHECK(count > 850 && count < 1150);
}

TEST(only_the_seed_and_the_pair_change_the_ways) {
  const GeneratorCase which{"clos", {{"leaves", "4"}, {"hosts_per_leaf", "16"}, {"rate", "100 Gbit/s"}}};
  const auto first = made(which), again = made(which);
  auto other = std::make_unique<Network>();
  other->seed = 2;
  const GeneratorInfo& info = find_generator(which.generator);
  info.make(Parameters(info.parameters, which.values, which.generator), 1000, *other);
  int differ = 0;
  for_all_pairs(*first, [&](const RouteRequest& request) {
    CHECK(way(*first, request) == way(*again, request));
    differ += way(*first, request) != way(*other, request) ? 1 : 0;
  });
  CHECK(differ > 64 * 48 / 2);
}

TEST(by_destination_the_next_lane_is_a_function_of_the_place_and_the_destination) {
  for (const GeneratorCase& which : generator_cases()) {
    const auto network = made(which, Spread::destination_modulo);
    // One reorders its steps; the other compares the global links as seen from each source.
    if (!network->router || which.values.contains("order") || which.generator == "dragonfly") continue;
    std::map<std::pair<Vertex, Vertex>, Lane> next;
    for_all_pairs(*network, [&](RouteRequest request) {
      const auto lanes = way(*network, request);
      request.key = 17;
      if (way(*network, request) != lanes) fail(text_of(which).c_str(), 0, "the key changes the way");
      for (const Lane lane : lanes)
        if (next.try_emplace({network->graph.tail(lane), request.destination}, lane).first->second != lane)
          fail(text_of(which).c_str(), 0, "two ways to one host part again");
    });
  }
}

TEST(by_destination_a_full_fat_tree_carries_every_shift_without_two_flows_on_a_lane) {
  // Zahavi 2010, section 5: trees whose bandwidth does not shrink upwards, with all hosts taking part.
  const std::vector<GeneratorCase> full{
      {"fat-tree", {{"radix", "4"}}},
      {"fat-tree", {{"radix", "8"}}},
      {"fat-tree", {{"radix", "4"}, {"levels", "5"}}},
      {"fat-tree", {{"down", "3x4x5"}, {"up", "3x4"}}},
      {"clos", {{"leaves", "6"}, {"hosts_per_leaf", "8"}, {"spines", "4"}, {"uplinks", "2"}}},
      {"stacked-tree", {{"leaves", "5"}, {"hosts_per_leaf", "4"}, {"uplinks", "4"}, {"spread", "flow"}}}};
  for (const GeneratorCase& which : full) {
    const auto network = made(which, Spread::destination_modulo);
    const Vertex hosts = network->graph.hosts;
    for (Vertex shift = 1; shift < hosts; ++shift) {
      std::vector<int> flows(2 * network->graph.edges.size());
      for (Vertex source = 0; source < hosts; ++source)
        for (const Lane lane : way(*network, {.source = source, .destination = (source + shift) % hosts}))
          ++flows[at(lane)];
      if (*std::ranges::max_element(flows) > 1) fail(text_of(which).c_str(), 0, "two flows share a lane");
    }
  }
}

TEST(a_way_leaves_and_arrives_by_the_requested_adapters) {
  const std::vector<GeneratorCase> several{
      {"clos", {{"leaves", "3"}, {"hosts_per_leaf", "3"}}, 2},
      {"fat-tree", {{"radix", "4"}}, 3},
      {"rail-optimised", {{"rails", "3"}, {"hosts_per_pod", "2"}, {"pods", "2"}}}};
  for (const GeneratorCase& which : several)
    for (const Spread spread : {Spread::ecmp, Spread::destination_modulo}) {
      const auto network = made(which, spread);
      const Graph& graph = network->graph;
      const auto leaving = leaving_lanes(graph);
      for_all_pairs(*network, [&](RouteRequest request) {
        const int adapters = graph.host(request.source).adapters;
        for (request.source_adapter = -1; request.source_adapter < adapters; ++request.source_adapter)
          for (request.destination_adapter = -1; request.destination_adapter < adapters;
               ++request.destination_adapter) {
            const auto lanes = way(*network, request);
            CHECK_EQ(broken(graph, request, lanes), "");
            if (request.source_adapter >= 0)
              CHECK_EQ(lanes.front(), leaving[at(request.source)][at(request.source_adapter)]);
            if (request.destination_adapter >= 0)
              CHECK_EQ(lanes.back() ^ 1, leaving[at(request.destination)][at(request.destination_adapter)]);
          }
      });
    }
}

TEST(flows_use_all_rails_spines_and_uplinks) {
  const auto network =
      made({"rail-optimised",
            {{"rails", "2"}, {"hosts_per_pod", "3"}, {"pods", "2"}, {"spines", "3"}, {"uplinks", "2"}}});
  std::set<std::vector<Lane>> within, across;
  for (std::uint64_t key = 0; key < 600; ++key) {
    within.insert(way(*network, {.source = 0, .destination = 1, .key = key}));
    across.insert(way(*network, {.source = 0, .destination = 4, .key = key}));
  }
  CHECK_EQ(within.size(), 2);
  CHECK_EQ(across.size(), 2 * 3 * 2 * 2);
}

TEST(flows_stay_on_one_rail_within_a_pod) {
  const auto network = made({"rail-optimised", {{"rails", "4"}, {"hosts_per_pod", "3"}, {"pods", "2"}}});
  for_all_pairs(*network, [&](const RouteRequest& request) {
    const bool one_pod = request.source / 3 == request.destination / 3;
    CHECK_EQ(way(*network, request).size(), one_pod ? 2 : 4);
  });
}

TEST(rings_that_go_one_way_are_never_entered_against_it) {
  const auto network = made({"torus", {{"dimensions", "5x3"}, {"one_way", "true"}}});
  for_all_pairs(*network, [&](const RouteRequest& request) {
    std::size_t steps = 0;
    for (const auto& [size, stride] : {std::pair{5, 1}, {3, 5}})
      steps += static_cast<std::size_t>(
          (request.destination / stride % size - request.source / stride % size + size) % size);
    const auto lanes = way(*network, request);
    CHECK_EQ(lanes.size(), steps);
    for (const Lane lane : lanes) CHECK_EQ(lane % 2, 0);
  });
}

TEST(ways_through_large_networks_are_whole) {
  const std::vector<GeneratorCase> large{{"fat-tree", {{"radix", "64"}}},
                                         {"dragonfly", {{"p", "7"}}},
                                         {"torus", {{"dimensions", "24x24x24"}}},
                                         {"hyperx", {{"dimensions", "16x16x16"}, {"hosts_per_switch", "4"}}}};
  Random random(7);
  for (const GeneratorCase& which : large) {
    const auto network = made(which);
    const auto hosts = static_cast<std::uint64_t>(network->graph.hosts);
    for (int i = 0; i < 5000; ++i) {
      const RouteRequest request{.source = static_cast<Vertex>(random.below(hosts)),
                                 .destination = static_cast<Vertex>(random.below(hosts)),
                                 .key = random.next()};
      if (request.source != request.destination)
        CHECK_EQ(broken(network->graph, request, way(*network, request)), "");
    }
  }
}
