// Closed forms of the bisection, compared with the maximum flow across every cut of the hosts into halves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <queue>

#include "tests/check.hpp"
#include "tests/generator_cases.hpp"

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::tests;

namespace {

constexpr double boundless = 1e18;  // bits/s, far above any link here, and exact with them

// Returns the maximum flow between two sets of hosts, by Edmonds and Karp. A switch that limits what its
// hosts send and receive has an extra vertex for each of the two.
class Flow {
 public:
  explicit Flow(const Graph& graph)
      : from_(graph.vertices()), to_(graph.vertices() + 1), graph_(graph), next_(graph.vertices() + 2) {
    arcs_of_.resize(static_cast<std::size_t>(graph.vertices() * 3 + 2));
    for (const Edge& edge : graph.edges) {
      const LinkClass& link = graph.link_classes[edge.link_class];
      add(outlet(edge.a, edge.b), inlet(edge.b, edge.a), link.rate);
      add(outlet(edge.b, edge.a), inlet(edge.a, edge.b), link.back_rate);
    }
    first_of_cut_ = arcs_.size();
    for (Vertex host = 0; host < graph.hosts; ++host) {
      add(from_, host, boundless);
      add(host, to_, boundless);
    }
  }

  double across(std::uint32_t half) {
    for (Arc& arc : arcs_) arc.left = arc.capacity;
    for (Vertex host = 0; host < graph_.hosts; ++host) {
      const auto base = first_of_cut_ + 4 * static_cast<std::size_t>(host);
      (half >> host & 1 ? arcs_[base + 2] : arcs_[base]).left = 0;
    }
    double flow = 0;
    for (double more = push(); more > 0; more = push()) flow += more;
    return flow;
  }

 private:
  struct Arc {
    std::int32_t head;
    double capacity, left;
  };

  void add(std::int32_t from, std::int32_t to, double capacity) {
    arcs_of_[static_cast<std::size_t>(from)].push_back(arcs_.size());
    arcs_.push_back({to, capacity, 0});
    arcs_of_[static_cast<std::size_t>(to)].push_back(arcs_.size());
    arcs_.push_back({from, 0, 0});
  }

  bool bounds(Vertex v, Vertex other) const {
    return !graph_.is_host(v) && graph_.is_host(other) && graph_.switch_of(v).capacity > 0;
  }
  // Where traffic from hosts enters a switch, and traffic to hosts leaves it.
  std::int32_t inlet(Vertex v, Vertex from) { return bounds(v, from) ? extra(v, 0) : v; }
  std::int32_t outlet(Vertex v, Vertex to) { return bounds(v, to) ? extra(v, 1) : v; }
  std::int32_t extra(Vertex v, std::size_t which) {
    auto& made = extras_[{v, which}];
    if (made == 0) {
      made = next_++;
      const double capacity = graph_.switch_of(v).capacity;
      which == 0 ? add(made, v, capacity) : add(v, made, capacity);
    }
    return made;
  }

  double push() {
    std::vector<std::size_t> by(arcs_of_.size(), arcs_.size());
    std::queue<std::int32_t> next;
    for (next.push(from_); !next.empty() && by[static_cast<std::size_t>(to_)] == arcs_.size(); next.pop())
      for (const std::size_t arc : arcs_of_[static_cast<std::size_t>(next.front())]) {
        const std::int32_t head = arcs_[arc].head;
        if (head == from_ || arcs_[arc].left <= 0 || by[static_cast<std::size_t>(head)] != arcs_.size())
          continue;
        by[static_cast<std::size_t>(head)] = arc;
        next.push(head);
      }
    if (by[static_cast<std::size_t>(to_)] == arcs_.size()) return 0;
    double least = boundless;
    const auto along_way = [&](auto each) {
      for (std::int32_t v = to_; v != from_;) {
        const std::size_t arc = by[static_cast<std::size_t>(v)];
        each(arc);
        v = arcs_[arc ^ 1].head;
      }
    };
    along_way([&](std::size_t arc) { least = std::min(least, arcs_[arc].left); });
    along_way([&](std::size_t arc) {
      arcs_[arc].left -= least;
      arcs_[arc ^ 1].left += least;
    });
    return least;
  }

  std::int32_t from_, to_;
  const Graph& graph_;
  std::int32_t next_;
  std::map<std::pair<Vertex, std::size_t>, std::int32_t> extras_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<std::size_t>> arcs_of_;
  std::size_t first_of_cut_ = 0;
};

double narrowest_cut(const Graph& graph) {
  Flow flow(graph);
  double narrowest = std::numeric_limits<double>::infinity();
  // Host 0 stays on one side, so that each cut occurs once.
  for (std::uint32_t half = 1; half < 1U << graph.hosts; half += 2)
    if (std::popcount(half) == graph.hosts / 2) narrowest = std::min(narrowest, flow.across(half));
  return narrowest;
}

const std::vector<GeneratorCase>& small_cases() {
  static const std::vector<GeneratorCase> all{
      {"two-node", {{"through", "cable"}}, 2},
      {"two-node", {{"through", "switch"}}},
      {"crossbar", {{"hosts", "6"}}, 2},
      {"stacked-tree", {{"leaves", "4"}, {"hosts_per_leaf", "2"}}},
      {"stacked-tree", {{"leaves", "2"}, {"hosts_per_leaf", "5"}, {"uplinks", "3"}}},
      {"stacked-tree", {{"leaves", "2"}, {"hosts_per_leaf", "2"}, {"uplinks", "3"}, {"spread", "flow"}}},
      {"clos", {{"leaves", "4"}, {"hosts_per_leaf", "3"}, {"taper", "2"}}},
      {"clos", {{"leaves", "4"}, {"hosts_per_leaf", "2"}, {"spines", "3"}}},
      {"clos", {{"leaves", "2"}, {"hosts_per_leaf", "4"}, {"spines", "3"}, {"uplink_rate", "30 Gbit/s"}}},
      {"fat-tree", {{"radix", "4"}, {"levels", "2"}}},
      {"fat-tree", {{"down", "3x2x2"}, {"up", "2x1"}}},
      {"fat-tree", {{"down", "2x3x2"}, {"up", "1x2"}}},
      {"torus", {{"dimensions", "4x3"}}},
      {"torus", {{"dimensions", "6x2"}}},
      {"torus", {{"dimensions", "4x3"}, {"wrap", "false"}}},
      {"torus", {{"dimensions", "4x3"}, {"one_way", "true"}}},
      {"ring", {{"length", "6"}, {"one_way", "true"}, {"hosts_per_switch", "1"}}},
      {"torus", {{"dimensions", "3x4"}, {"hosts_per_switch", "1"}, {"host_rate", "90 Gbit/s"}}},
      {"torus", {{"dimensions", "2x2"}, {"hosts_per_switch", "3"}, {"wrap", "false"}}},
      {"ring", {{"length", "8"}}},
      {"ring", {{"length", "6"}, {"hosts_per_switch", "2"}}},
      {"hypercube", {{"dimensions", "3"}}},
      {"hypercube", {{"dimensions", "2"}, {"hosts_per_switch", "3"}}},
      {"hyperx", {{"dimensions", "4x2"}, {"hosts_per_switch", "1"}}},
      {"hyperx", {{"dimensions", "2x3"}, {"hosts_per_switch", "2"}}},
      {"hyperx", {{"dimensions", "4"}, {"hosts_per_switch", "3"}, {"trunk_rate", "40 Gbit/s"}}},
      {"rail-optimised", {{"rails", "2"}, {"hosts_per_pod", "3"}, {"pods", "2"}}},
      {"rail-optimised", {{"rails", "3"}, {"hosts_per_pod", "2"}, {"pods", "2"}, {"spines", "1"}}},
      {"module-chassis",
       {{"modules", "4"}, {"asics_per_module", "1"}, {"hosts_per_asic", "3"}, {"module_rate", "60 Gbit/s"}}},
      {"module-chassis",
       {{"modules", "2"},
        {"asics_per_module", "2"},
        {"hosts_per_asic", "3"},
        {"asic_capacity", "200 Gbit/s"}}},
      {"module-chassis",
       {{"modules", "2"}, {"asics_per_module", "2"}, {"hosts_per_asic", "3"}, {"asic_rate", "110 Gbit/s"}}},
      {"module-chassis",
       {{"modules", "4"},
        {"asics_per_module", "1"},
        {"hosts_per_asic", "2"},
        {"backplane", "central"},
        {"module_rate", "150 Gbit/s"}}},
      {"module-chassis",
       {{"modules", "3"},
        {"asics_per_module", "2"},
        {"hosts_per_asic", "2"},
        {"hosts", "11"},
        {"backplane", "central"}}},
      {"meta-node", {{"meta_nodes", "2"}, {"ports", "5"}, {"wires", "1"}}},
      {"meta-node", {{"meta_nodes", "2"}, {"ports", "4"}, {"wires", "2"}, {"wire_rate", "40 Mbit/s"}}},
  };
  return all;
}

}  // namespace

TEST(closed_forms_are_the_narrowest_of_all_cuts_into_halves) {
  for (const GeneratorCase& which : small_cases()) {
    const auto network = made(which);
    REQUIRE(network->graph.hosts <= 12);
    if (!network->forms.bisection.has_value()) {
      fail(text_of(which).c_str(), 0, "has no closed form");
      continue;
    }
    CHECK(!network->forms.bisection_formula.empty());
    const double found = narrowest_cut(network->graph);
    const double claimed = *network->forms.bisection;
    if (std::abs(found - claimed) > 1e-9 * found)
      fail(text_of(which).c_str(), 0,
           "claims " + std::to_string(claimed / 1e9) + " Gbit/s; the narrowest cut has " +
               std::to_string(found / 1e9));
  }
}

TEST(no_closed_form_is_given_where_none_holds) {
  for (const GeneratorCase& which :
       std::vector<GeneratorCase>{{"torus", {{"dimensions", "3x3"}}},
                                  {"clos", {{"leaves", "3"}}},
                                  {"dragonfly", {}},
                                  {"meta-node", {{"meta_nodes", "5"}}},
                                  {"meta-node", {{"meta_nodes", "2"}, {"wires", "4"}}}})
    CHECK(!made(which)->forms.bisection.has_value());
}

TEST(salmons_bisection_is_of_whole_meta_nodes_and_a_narrower_cut_exists) {
  const auto network = made({"meta-node", {{"meta_nodes", "4"}, {"ports", "3"}, {"wires", "1"}}});
  const Graph& graph = network->graph;
  double per_node = 0;
  for (const auto& figure : network->forms.further)
    if (figure.name == "bisection_per_node") per_node = figure.value;
  std::uint32_t half = 0;
  for (Vertex host = 0; host < graph.hosts; ++host)
    if (graph.group[static_cast<std::size_t>(host)] < 2) half |= 1U << host;
  const double link = 100e6;
  CHECK_EQ(Flow(graph).across(half), per_node * graph.hosts * link);
  CHECK_EQ(narrowest_cut(graph), 3 * link);  // one switch, and the three hosts wired to it
}
