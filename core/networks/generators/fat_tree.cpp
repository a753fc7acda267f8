// Folded Clos networks of any number of levels, from a switch's ports or from what is wired up and down.
#include "networks/generators/fat_tree.hpp"

#include <array>

namespace crosscut::networks::generators {
namespace {

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
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(
    fat_tree,
    {.name = "fat-tree",
     .summary = "Switches on levels, each with several parents: a folded Clos network",
     .source = "Leiserson 1985; extended generalised fat trees of Öhring et al. 1995; with a radix, "
               "Al-Fares, Loukissas and Vahdat, SIGCOMM 2008",
     .parameters = parameters,
     .make = make})
