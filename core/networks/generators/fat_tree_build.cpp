#include <limits>

#include "networks/generators/fat_tree.hpp"
#include "networks/generators/fat_tree_router.hpp"

namespace crosscut::networks::generators {
namespace {

// As doubles: no product of parameters overflows before it is known to be small.
void check_tree(const TreeShape& shape, std::int64_t vertices_max) {
  double hosts = 1, width = 1, switches = 0, links = 0;
  for (const TreeLevel& level : shape.levels) hosts *= level.down;
  double below = hosts, vertices = hosts;
  for (const TreeLevel& level : shape.levels) {
    links += vertices * level.up * level.parallel;
    below /= level.down;
    width *= level.up;
    vertices = below * width;
    switches += vertices;
  }
  check_room(hosts, switches, links, vertices_max);
}

// "level3." makes names such as level3.17; the class is level3.
std::string class_name(const TreeShape& shape, std::size_t level) {
  std::string name = shape.words[level];
  if (name.ends_with('.')) name.pop_back();
  return name;
}

// Names, levels and groups of the switches of one level; classes as many as levels.
void add_level(const TreeShape& shape, const TreeNumbers& numbers, std::size_t level, Graph& graph) {
  const std::size_t top = shape.levels.size();
  const std::int32_t switches = numbers.switches(level);
  for (std::int32_t i = 0; i < switches; ++i) {
    const bool alone = switches == 1;
    graph.switch_names.push_back(shape.words[level - 1] + (alone ? std::string() : std::to_string(i)));
    graph.level.push_back(static_cast<std::int8_t>(level - 1));
    graph.switch_class.push_back(static_cast<std::uint16_t>(level - 1));
    const std::int64_t first_host =
        static_cast<std::int64_t>(i / numbers.width[level]) * numbers.below[level];
    graph.group.push_back(level == top ? -1 : static_cast<std::int32_t>(first_host / numbers.below[top - 1]));
  }
}

void add_edges(const TreeShape& shape, const TreeNumbers& numbers, std::size_t level, Graph& graph) {
  const TreeLevel& links = shape.levels[level];
  const std::int32_t width = numbers.width[level];
  const std::int32_t count = numbers.switches(level);
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t block = i / width / links.down, index = i % width;
    const std::int32_t parents = numbers.width[level + 1];
    for (std::int32_t port = 0; port < links.up * links.parallel; ++port) {
      const std::int32_t parent = block * parents + index + width * (port % links.up);
      graph.edges.push_back({numbers.first_vertex[level] + i, numbers.first_vertex[level + 1] + parent,
                             static_cast<std::uint16_t>(level)});
    }
  }
}

// Half of the top's subtrees against the other half. What leaves a half passes every level on its way up, so
// the narrowest decides. No other halves are narrower: a switch with hosts of both halves costs at least as
// much as it saves (its share of the links below it), so some best cut splits no subtree.
void bisect(const TreeShape& shape, const TreeNumbers& numbers, ClosedForms& forms) {
  if (shape.levels.back().down % 2 != 0) return;
  double narrowest = std::numeric_limits<double>::infinity();
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    const TreeLevel& links = shape.levels[level];
    narrowest = std::min(
        narrowest, static_cast<double>(numbers.switches(level)) / 2 * links.up * links.parallel * links.rate);
  }
  forms.bisection = narrowest;
  forms.bisection_formula =
      "half of the links between two levels, of the narrowest pair of levels" + shape.formula_source;
}

}  // namespace

TreeNumbers::TreeNumbers(const TreeShape& shape) {
  below.push_back(1);
  width.push_back(1);
  std::int64_t hosts = 1;
  for (const TreeLevel& level : shape.levels) {
    hosts *= level.down;
    below.push_back(static_cast<std::int32_t>(hosts));
    width.push_back(width.back() * level.up);
  }
  Vertex vertex = 0;
  std::int64_t edge = 0;
  for (std::size_t level = 0; level <= shape.levels.size(); ++level) {
    first_vertex.push_back(vertex);
    first_edge.push_back(edge);
    vertex += switches(level);
    if (level < shape.levels.size())
      edge +=
          static_cast<std::int64_t>(switches(level)) * shape.levels[level].up * shape.levels[level].parallel;
  }
  first_vertex.push_back(vertex);
  first_edge.push_back(edge);
}

void make_tree(const TreeShape& shape, std::int64_t vertices_max, Network& network) {
  check_tree(shape, vertices_max);
  const TreeNumbers numbers(shape);
  const std::size_t top = shape.levels.size();
  Graph& graph = network.graph;
  graph.hosts = numbers.switches(0);
  graph.switches = numbers.first_vertex[top + 1] - graph.hosts;
  for (std::size_t level = 0; level < top; ++level) {
    add_switch_class(graph, class_name(shape, level));
    add_link_class(graph, level == 0 ? "host-link" : class_name(shape, level - 1) + "-uplink",
                   shape.levels[level].rate, shape.levels[level].cables);
  }
  graph.group_word = shape.group_word;
  graph.group.reserve(static_cast<std::size_t>(graph.vertices()));
  for (Vertex host = 0; host < graph.hosts; ++host) graph.group.push_back(host / numbers.below[top - 1]);
  for (std::size_t level = 1; level <= top; ++level) add_level(shape, numbers, level, graph);
  graph.edges.reserve(static_cast<std::size_t>(numbers.first_edge[top]));
  for (std::size_t level = 0; level < top; ++level) add_edges(shape, numbers, level, graph);
  count_adapters(graph);
  network.router = make_tree_router(shape, network.spread, network.seed);
  network.forms.hosts_alike = true;
  bisect(shape, numbers, network.forms);
}

}  // namespace crosscut::networks::generators
