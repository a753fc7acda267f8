// Folded Clos networks of any number of levels, from a switch's ports or from what is wired up and down.
#include "networks/generators/fat_tree.hpp"

#include <array>
#include <limits>

namespace crosscut::networks::generators {
namespace {

// Where everything stands, level by level (0: hosts).
struct TreeNumbers {
  explicit TreeNumbers(const TreeShape& shape) {
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
        edge += static_cast<std::int64_t>(switches(level)) * shape.levels[level].up *
                shape.levels[level].parallel;
    }
  }
  std::vector<std::int32_t> below{1};    // hosts below a switch of the level; 1 for hosts
  std::vector<std::int32_t> width{1};    // switches of the level with the same hosts below
  std::vector<Vertex> first_vertex;      // [level]
  std::vector<std::int64_t> first_edge;  // [level] of the links to the next level
  // Vertices of a level, hosts included.
  std::int32_t switches(std::size_t level) const { return below.back() / below[level] * width[level]; }
};

// The links between a level and the next.
struct TreeLinks {
  std::uint32_t below, width, parents, ports;
  std::int64_t first_edge;
  std::int64_t edge(std::uint32_t host, std::uint32_t index, std::uint32_t port) const {
    return first_edge + (static_cast<std::int64_t>(host / below) * width + index) * ports + port;
  }
};

// Up to the lowest level that both hosts share, then down the only way.
class TreeRouter final : public ArithmeticRouter<std::vector<TreeLinks>> {
 public:
  TreeRouter(const TreeShape& shape, const TreeNumbers& numbers, const Network& network)
      : ArithmeticRouter({}, network) {
    for (std::size_t level = 0; level < shape.levels.size(); ++level) {
      const TreeLevel& links = shape.levels[level];
      numbers_.push_back({static_cast<std::uint32_t>(numbers.below[level]),
                          static_cast<std::uint32_t>(numbers.width[level]),
                          static_cast<std::uint32_t>(links.up),
                          static_cast<std::uint32_t>(links.up * links.parallel), numbers.first_edge[level]});
    }
  }

  // Zahavi 2010, section 4: the port up from a switch of level l is floor(d / (w_1 .. w_l)) mod (w_{l+1}
  // p_{l+1}); of the parallel cables down to d the same one is taken, whoever sends.
  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    const auto source = static_cast<std::uint32_t>(request.source);
    const auto destination = static_cast<std::uint32_t>(request.destination);
    Chooser choices = chooser(request);
    std::size_t top = 1;  // the lowest level with both hosts below one block
    while (top < numbers_.size() && source / numbers_[top].below != destination / numbers_[top].below) ++top;
    std::uint32_t index = 0;  // of the switch where the flow is, within its block
    for (std::size_t level = 0; level < top; ++level) {
      const TreeLinks& at = numbers_[level];
      const bool asked = level == 0 && request.source_adapter >= 0;
      const std::uint32_t port =
          asked ? static_cast<std::uint32_t>(request.source_adapter) : choices.choose(at.ports, at.width);
      lanes.push_back(lane_up(at.edge(source, index, port)));
      index += at.width * (port % at.parents);
    }
    for (std::size_t level = top; level-- > 0;) {
      const TreeLinks& at = numbers_[level];
      const std::uint32_t parent = index / at.width;
      index %= at.width;
      const bool asked = level == 0 && request.destination_adapter >= 0;
      const std::uint32_t cable =
          asked ? static_cast<std::uint32_t>(request.destination_adapter) : down_cable(at, choices);
      lanes.push_back(lane_down(at.edge(destination, index, parent + at.parents * cable)));
    }
  }

 private:
  std::uint32_t down_cable(const TreeLinks& at, Chooser& choices) const {
    if (at.ports == at.parents) return 0;
    if (spread_ == Spread::destination_modulo) return choices.choose(at.ports, at.width) / at.parents;
    return choices.choose(at.ports / at.parents);
  }
};

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
    const std::int64_t first_host =
        static_cast<std::int64_t>(i / numbers.width[level]) * numbers.below[level];
    add_switch(graph, shape.words[level - 1] + (switches == 1 ? std::string() : std::to_string(i)),
               level == top ? -1 : static_cast<std::int32_t>(first_host / numbers.below[top - 1]),
               static_cast<std::int8_t>(level - 1));
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

// Every switch has `radix` ports: below the top, half of them go up (with a taper of t, one in t + 1), and at
// the top all go down. Al-Fares, Loukissas and Vahdat (SIGCOMM 2008) have three levels: radix^3 / 4 hosts.
std::vector<TreeLevel> from_radix(std::int32_t radix, std::int32_t levels, std::int32_t taper) {
  std::vector<TreeLevel> shape(static_cast<std::size_t>(levels));
  for (std::size_t level = 0; level < shape.size(); ++level) {
    const bool top = level + 1 == shape.size();
    const std::int32_t up = radix / (level == 0 ? taper + 1 : 2);
    if (!top && (up < 1 || radix % (level == 0 ? taper + 1 : 2) != 0))
      throw UsageError("radix = " + std::to_string(radix) + " cannot be divided into ports down and up, " +
                       std::to_string(level == 0 ? taper : 1) + " to 1");
    shape[level].down = top ? radix : radix - up;
    if (!top) shape[level + 1].up = up;
  }
  return shape;
}

std::vector<TreeLevel> from_lists(const program::Parameters& given) {
  const std::vector<std::int32_t> down = numbers(given, "down"), up = numbers(given, "up");
  if (down.empty() || up.size() + 1 != down.size())
    throw UsageError("down has " + std::to_string(down.size()) + " numbers and up " +
                     std::to_string(up.size()) +
                     "; down needs one for each level of switches, and up one less (the top has no way up)");
  std::vector<TreeLevel> shape(down.size());
  for (std::size_t level = 0; level < shape.size(); ++level) {
    shape[level].down = down[level];
    if (level > 0) shape[level].up = up[level - 1];
  }
  return shape;
}

std::vector<std::string> words_for(std::size_t levels) {
  if (levels == 1) return {"switch"};
  std::vector<std::string> words{"leaf"};
  for (std::size_t level = 2; level < levels; ++level)
    words.push_back(levels == 3 ? "middle" : "level" + std::to_string(level) + ".");
  words.emplace_back("top");
  return words;
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  const bool lists = !given.text("down").empty() || !given.text("up").empty();
  if (lists && (given.given("radix") || given.given("levels") || given.given("taper")))
    throw UsageError("down and up say all that radix, levels and taper would; give the one or the other");
  TreeShape shape;
  shape.levels = lists ? from_lists(given)
                       : from_radix(count(given, "radix"), count(given, "levels"), count(given, "taper"));
  const double rate = given.real("rate"), uplink_rate = rate_or(given, "uplink_rate", rate);
  for (TreeLevel& level : shape.levels) level.rate = uplink_rate;
  shape.levels.front().rate = rate;
  shape.levels.front().parallel = network.graph.host_classes.front().adapters;
  shape.words = words_for(shape.levels.size());
  shape.group_word = shape.levels.size() > 2 ? "pod" : "leaf";
  shape.formula_source = " (Zahavi 2010, section 3: one for all levels where nothing is tapered)";
  make_tree(shape, vertices_max, network);
}

const std::array parameters = {
    count_parameter("radix", "16", "ports of each switch", 2, 1e6),
    count_parameter("levels", "3", "levels of switches", 1, 10),
    count_parameter("taper", "1", "hosts of a leaf for each of its ports up", 1, 1e6),
    list_parameter("down", "", "instead: ports down of a switch, level by level from the leaves: 32x32x64"),
    list_parameter("up", "", "with down: ports up of a switch, level by level from the leaves: 32x32"),
    host_rate_parameter(),
    rate_parameter("uplink_rate", "", "rate of each link between switches; without it, that of the hosts"),
};

}  // namespace

void make_tree(const TreeShape& shape, std::int64_t vertices_max, Network& network) {
  check_tree(shape, vertices_max);
  const TreeNumbers numbers(shape);
  const std::size_t top = shape.levels.size();
  Graph& graph = network.graph;
  graph.hosts = numbers.switches(0);
  for (std::size_t level = 0; level < top; ++level) {
    add_switch_class(graph, class_name(shape, level));
    add_link_class(graph, level == 0 ? "host-link" : class_name(shape, level - 1) + "-uplink",
                   shape.levels[level].rate, shape.levels[level].cables);
  }
  group_hosts(graph, shape.group_word, numbers.below[top - 1]);
  for (std::size_t level = 1; level <= top; ++level) add_level(shape, numbers, level, graph);
  graph.edges.reserve(static_cast<std::size_t>(numbers.first_edge[top]));
  for (std::size_t level = 0; level < top; ++level) add_edges(shape, numbers, level, graph);
  count_adapters(graph);
  network.router = std::make_unique<TreeRouter>(shape, numbers, network);
  network.forms.hosts_alike = true;
  bisect(shape, numbers, network.forms);
}

}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(
    fat_tree,
    {.name = "fat-tree",
     .summary = "Switches on levels, each with several parents: a folded Clos network",
     .source = "Leiserson 1985; extended generalised fat trees of Öhring et al. 1995; with a radix, "
               "Al-Fares, Loukissas and Vahdat, SIGCOMM 2008",
     .parameters = parameters,
     .make = make})
