// Small networks of every generator, for tests of their common properties.
#pragma once

#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "networks/generator.hpp"

namespace crosscut::tests {

using Values = std::map<std::string, std::string>;

struct GeneratorCase {
  std::string generator;
  Values values;
  int adapters = 1;  // as in the file's [host]
};

inline std::string text_of(const GeneratorCase& which) {
  std::string text = which.generator;
  for (const auto& [name, value] : which.values) text += " " + name + "=" + value;
  return which.adapters > 1 ? text + " adapters=" + std::to_string(which.adapters) : text;
}

inline const std::vector<GeneratorCase>& generator_cases() {
  static const std::vector<GeneratorCase> all{
      {"crossbar", {{"hosts", "5"}}},
      {"crossbar", {{"hosts", "4"}}, 2},
      {"two-node", {{"through", "cable"}}},
      {"two-node", {{"through", "switch"}}, 2},
      {"bus", {{"hosts", "6"}}},
      {"stacked-tree", {{"leaves", "4"}, {"hosts_per_leaf", "3"}, {"uplinks", "2"}, {"spread", "pooled"}}},
      {"stacked-tree", {{"leaves", "3"}, {"hosts_per_leaf", "2"}, {"uplinks", "3"}, {"spread", "flow"}}},
      {"clos", {{"leaves", "4"}, {"hosts_per_leaf", "4"}}},
      {"clos", {{"leaves", "3"}, {"hosts_per_leaf", "6"}, {"taper", "2"}, {"uplinks", "2"}}},
      {"clos", {{"leaves", "2"}, {"hosts_per_leaf", "3"}, {"spines", "5"}}, 2},
      {"fat-tree", {{"radix", "4"}, {"levels", "3"}}},
      {"fat-tree", {{"radix", "6"}, {"levels", "2"}, {"taper", "2"}}},
      {"fat-tree", {{"down", "2x3x4"}, {"up", "3,2"}}},
      {"fat-tree", {{"down", "3x2x2x2"}, {"up", "2x1x3"}}, 2},
      {"fat-tree", {{"down", "7"}}},
      {"torus", {{"dimensions", "4x3"}}},
      {"torus", {{"dimensions", "2x2x4"}, {"hosts_per_switch", "2"}}},
      {"torus", {{"dimensions", "1x5x1x4"}}},
      {"torus", {{"dimensions", "4x3x2"}, {"wrap", "false"}}},
      {"torus", {{"dimensions", "3x4"}, {"wrap", "false"}, {"hosts_per_switch", "3"}}},
      {"ring", {{"length", "7"}}},
      {"ring", {{"length", "2"}}},
      {"ring", {{"length", "6"}, {"hosts_per_switch", "2"}}},
      {"hypercube", {{"dimensions", "4"}}},
      {"hypercube", {{"dimensions", "3"}, {"hosts_per_switch", "2"}}},
      {"hyperx", {{"dimensions", "3x4"}, {"hosts_per_switch", "2"}}},
      {"hyperx", {{"dimensions", "2x3x3"}, {"hosts_per_switch", "1"}, {"order", "hash"}}},
      {"hyperx", {{"dimensions", "1x4"}, {"hosts_per_switch", "2"}, {"cables", "3"}}},
      {"dragonfly", {{"p", "1"}, {"a", "2"}, {"h", "1"}}},
      {"dragonfly", {{"p", "2"}}},
      {"dragonfly", {{"p", "2"}, {"a", "4"}, {"h", "2"}, {"groups", "4"}}},
      {"dragonfly", {{"p", "1"}, {"a", "3"}, {"h", "4"}, {"groups", "4"}}},
      {"dragonfly", {{"p", "1"}, {"a", "5"}, {"groups", "1"}}},
      {"rail-optimised", {{"rails", "3"}, {"hosts_per_pod", "4"}, {"pods", "3"}}},
      {"rail-optimised",
       {{"rails", "2"}, {"hosts_per_pod", "3"}, {"pods", "2"}, {"spines", "2"}, {"uplinks", "2"}}},
      {"module-chassis", {{"modules", "4"}, {"asics_per_module", "2"}, {"hosts_per_asic", "3"}}},
      {"module-chassis",
       {{"modules", "3"}, {"asics_per_module", "2"}, {"hosts_per_asic", "4"}, {"hosts", "19"}}},
      {"module-chassis",
       {{"modules", "3"}, {"asics_per_module", "1"}, {"hosts_per_asic", "4"}, {"backplane", "central"}}},
      {"meta-node", {}},
      {"meta-node", {{"meta_nodes", "5"}, {"ports", "3"}, {"wires", "2"}}},
      {"meta-node", {{"meta_nodes", "5"}, {"ports", "3"}, {"wires", "3"}}},
      {"meta-node", {{"meta_nodes", "2"}, {"ports", "2"}, {"wires", "3"}}},
      {"meta-node", {{"meta_nodes", "1"}, {"ports", "4"}}},
  };
  return all;
}

inline std::unique_ptr<networks::Network> made(const GeneratorCase& which,
                                               networks::Spread spread = networks::Spread::ecmp,
                                               std::int64_t vertices_max = 4'000'000) {
  const networks::GeneratorInfo& info = networks::find_generator(which.generator);
  Values values = which.values;
  const std::map<std::string, std::string> rates{{"bus", "10 Mbit/s"}, {"meta-node", "100 Mbit/s"}};
  const auto rate = rates.find(which.generator);
  values.emplace(networks::always_written, rate == rates.end() ? "100 Gbit/s" : rate->second);
  auto network = std::make_unique<networks::Network>();
  network->kind = which.generator;
  network->spread = spread;
  network->graph.host_classes.front().adapters = which.adapters;
  info.make(program::Parameters(info.parameters, values, which.generator), vertices_max, *network);
  return network;
}

// [vertex] lanes that leave it.
inline std::vector<std::vector<networks::Lane>> leaving_lanes(const networks::Graph& graph) {
  std::vector<std::vector<networks::Lane>> leaving(static_cast<std::size_t>(graph.vertices()));
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    leaving[static_cast<std::size_t>(graph.edges[edge].a)].push_back(static_cast<networks::Lane>(2 * edge));
    leaving[static_cast<std::size_t>(graph.edges[edge].b)].push_back(
        static_cast<networks::Lane>(2 * edge + 1));
  }
  return leaving;
}

// Fewest links from `source`, and the number of such routes; only hosts that forward are passed through.
struct Distances {
  std::vector<int> links;          // [vertex]; -1: not reached
  std::vector<std::int64_t> ways;  // [vertex]; parallel edges are different routes
};

inline Distances distances_from(networks::Vertex source, const networks::Graph& graph,
                                const std::vector<std::vector<networks::Lane>>& leaving) {
  Distances found{std::vector<int>(leaving.size(), -1), std::vector<std::int64_t>(leaving.size())};
  found.links[static_cast<std::size_t>(source)] = 0;
  found.ways[static_cast<std::size_t>(source)] = 1;
  std::queue<networks::Vertex> next;
  for (next.push(source); !next.empty(); next.pop()) {
    const networks::Vertex at = next.front();
    if (at != source && graph.is_host(at) && graph.host(at).forwards == networks::Forwarding::no) continue;
    const auto here = static_cast<std::size_t>(at);
    for (const networks::Lane lane : leaving[here]) {
      const auto there = static_cast<std::size_t>(graph.head(lane));
      if (found.links[there] < 0) {
        found.links[there] = found.links[here] + 1;
        next.push(graph.head(lane));
      }
      if (found.links[there] == found.links[here] + 1) found.ways[there] += found.ways[here];
    }
  }
  return found;
}

}  // namespace crosscut::tests
