// Folded Clos networks of any number of levels, given by the switches' ports or by their links down and up.
#include "networks/generators/fat_tree.hpp"

#include <array>
#include <limits>

namespace crosscut::networks::generators {
namespace {

// Position of one level's vertices (level 0: hosts), and their links to the level above.
struct TreeRow {
  std::int32_t below = 1, width = 1;    // hosts below a switch; switches with the same hosts below
  std::int32_t parents = 0, ports = 0;  // vertices above a vertex, and edges to them
  std::int32_t count = 0;               // vertices of the level
  Vertex first_vertex = 0;
  std::int64_t first_edge = 0;
  std::int64_t edge(Vertex host, std::int32_t index, std::int32_t port) const {
    return first_edge + (static_cast<std::int64_t>(host / below) * width + index) * ports + port;
  }
};

std::vector<TreeRow> rows_of(const TreeShape& shape) {
  std::vector<TreeRow> rows(shape.levels.size() + 1);
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    const TreeLevel& links = shape.levels[level];
    rows[level].parents = links.up;
    rows[level].ports = links.up * links.parallel;
    rows[level + 1].below = rows[level].below * links.down;
    rows[level + 1].width = rows[level].width * links.up;
  }
  for (TreeRow& row : rows) row.count = rows.back().below / row.below * row.width;
  for (std::size_t level = 1; level < rows.size(); ++level) {
    const TreeRow& under = rows[level - 1];
    rows[level].first_vertex = under.first_vertex + under.count;
    rows[level].first_edge = under.first_edge + static_cast<std::int64_t>(under.count) * under.ports;
  }
  return rows;
}

// Goes up to the lowest level that both hosts share, then down by the only path.
class TreeRouter final : public ArithmeticRouter<std::vector<TreeRow>> {
 public:
  using ArithmeticRouter::ArithmeticRouter;

  // Zahavi 2010, section 4: the port up from a switch of level l is floor(d / (w_1 .. w_l)) mod (w_{l+1}
  // p_{l+1}). Among parallel cables down, the one to d is the same for all sources.
  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    const Vertex source = request.source, destination = request.destination;
    Chooser choices = chooser(request);
    std::size_t top = 1;  // the lowest level at which one block holds both hosts
    while (source / numbers_[top].below != destination / numbers_[top].below) ++top;
    std::int32_t index = 0;  // of the current switch within its block
    for (std::size_t level = 0; level < top; ++level) {
      const TreeRow& at = numbers_[level];
      const bool asked = level == 0 && request.source_adapter >= 0;
      const std::int32_t port = asked ? request.source_adapter : choose(choices, at.ports, at.width);
      lanes.push_back(lane_up(at.edge(source, index, port)));
      index += at.width * (port % at.parents);
    }
    for (std::size_t level = top; level-- > 0;) {
      const TreeRow& at = numbers_[level];
      const std::int32_t parent = index / at.width;
      index %= at.width;
      const bool asked = level == 0 && request.destination_adapter >= 0;
      const std::int32_t cable = asked ? request.destination_adapter : down_cable(at, choices);
      lanes.push_back(lane_down(at.edge(destination, index, parent + at.parents * cable)));
    }
  }

 private:
  static std::int32_t choose(Chooser& choices, std::int32_t ways, std::int32_t divisor) {
    return static_cast<std::int32_t>(
        choices.choose(static_cast<std::uint32_t>(ways), static_cast<std::uint32_t>(divisor)));
  }
  std::int32_t down_cable(const TreeRow& at, Chooser& choices) const {
    if (at.ports == at.parents) return 0;
    if (spread_ == Spread::destination_modulo) return choose(choices, at.ports, at.width) / at.parents;
    return choose(choices, at.ports / at.parents, 1);
  }
};

// Computes in doubles, so that no product of parameters overflows before it is known to be small.
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

// Returns the name of a level's class: "level3" for switches named "level3.17".
std::string class_name(const TreeShape& shape, std::size_t level) {
  std::string name = shape.words[level];
  if (name.ends_with('.')) name.pop_back();
  return name;
}

// Adds the switches of one level with their names, groups and class.
void add_level(const std::string& word, const TreeRow& row, std::size_t level, std::int32_t hosts_of_group,
               bool is_top, Graph& graph) {
  for (std::int32_t i = 0; i < row.count; ++i) {
    const std::int64_t first_host = static_cast<std::int64_t>(i / row.width) * row.below;
    add_switch(graph, word + (row.count == 1 ? std::string() : std::to_string(i)),
               is_top ? -1 : static_cast<std::int32_t>(first_host / hosts_of_group),
               static_cast<std::int8_t>(level - 1));
  }
}

void add_edges(const TreeRow& row, const TreeRow& above, std::int32_t down, std::uint16_t link_class,
               Graph& graph) {
  for (std::int32_t i = 0; i < row.count; ++i) {
    const std::int32_t block = i / row.width / down, index = i % row.width;
    for (std::int32_t port = 0; port < row.ports; ++port) {
      const std::int32_t parent = block * above.width + index + row.width * (port % row.parents);
      graph.edges.push_back({row.first_vertex + i, above.first_vertex + parent, link_class});
    }
  }
}

// Half of the top's subtrees against the other half. Traffic out of a half passes every level on its way up,
// so the narrowest level decides. No other halving is narrower: a switch with hosts of both halves costs at
// least as much as it saves (its share of the links below it), so some best cut splits no subtree.
void bisect(const TreeShape& shape, const std::vector<TreeRow>& rows, ClosedForms& forms) {
  if (shape.levels.back().down % 2 != 0) return;
  double narrowest = std::numeric_limits<double>::infinity();
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    const TreeLevel& links = shape.levels[level];
    narrowest = std::min(narrowest,
                         static_cast<double>(rows[level].count) / 2 * links.up * links.parallel * links.rate);
  }
  forms.bisection = narrowest;
  forms.bisection_formula = "half of the links between the narrowest pair of levels" + shape.formula_source;
}

// Every switch has `radix` ports. Below the top half of them go up (leaves with taper t: one in t + 1); at
// the top all go down. With three levels this is the tree of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008):
// radix^3 / 4 hosts.
std::vector<TreeLevel> from_radix(std::int32_t radix, std::int32_t levels, std::int32_t taper) {
  std::vector<TreeLevel> shape(static_cast<std::size_t>(levels));
  for (std::size_t level = 0; level < shape.size(); ++level) {
    const bool top = level + 1 == shape.size();
    const std::int32_t up = radix / (level == 0 ? taper + 1 : 2);
    if (!top && (up < 1 || radix % (level == 0 ? taper + 1 : 2) != 0))
      throw UsageError("radix = " + std::to_string(radix) + " cannot be split into ports down and up, " +
                       std::to_string(level == 0 ? taper : 1) + " to 1; choose a multiple of " +
                       std::to_string(level == 0 ? taper + 1 : 2));
    shape[level].down = top ? radix : radix - up;
    if (!top) shape[level + 1].up = up;
  }
  return shape;
}

std::vector<TreeLevel> from_lists(const program::Parameters& given) {
  const std::vector<std::int32_t> down = numbers(given, "down"), up = numbers(given, "up");
  if (down.empty() || up.size() + 1 != down.size())
    throw UsageError(
        "down has " + std::to_string(down.size()) + " numbers and up " + std::to_string(up.size()) +
        "; down needs one for each level of switches, and up one less (the top has no ports up)");
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
  shape.formula_source = " (Zahavi 2010, section 3: the same for all levels unless tapered)";
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
  const std::vector<TreeRow> rows = rows_of(shape);
  const std::size_t top = shape.levels.size();
  Graph& graph = network.graph;
  graph.hosts = rows.front().count;
  for (std::size_t level = 0; level < top; ++level) {
    add_switch_class(graph, class_name(shape, level));
    add_link_class(graph, level == 0 ? "host-link" : class_name(shape, level - 1) + "-uplink",
                   shape.levels[level].rate, shape.levels[level].cables);
  }
  const std::int32_t hosts_of_group = rows[top - 1].below;
  group_hosts(graph, shape.group_word, hosts_of_group);
  for (std::size_t level = 1; level <= top; ++level)
    add_level(shape.words[level - 1], rows[level], level, hosts_of_group, level == top, graph);
  graph.edges.reserve(static_cast<std::size_t>(rows.back().first_edge));
  for (std::size_t level = 0; level < top; ++level)
    add_edges(rows[level], rows[level + 1], shape.levels[level].down, static_cast<std::uint16_t>(level),
              graph);
  count_adapters(graph);
  network.router = std::make_unique<TreeRouter>(rows, network);
  network.forms.hosts_alike = true;
  bisect(shape, rows, network.forms);
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
