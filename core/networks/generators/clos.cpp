// A leaf and spine network: every leaf is wired to every spine.
#include <array>

#include "networks/generators/fat_tree.hpp"

namespace crosscut::networks::generators {
namespace {

// Returns how many spines carry what a leaf's hosts can send, divided by `taper`; rounded up.
std::int32_t spines_for(const program::Parameters& given, double uplink_rate) {
  const double wanted = given.real("hosts_per_leaf") * given.real("rate") / given.real("taper");
  // A quotient that rounding puts just above a whole number must not cost a spine.
  const double spines = std::ceil(wanted / (given.real("uplinks") * uplink_rate) * (1 - 1e-12));
  if (!(spines <= 1e9)) throw UsageError("taper and uplink_rate would need more than 10^9 spines");
  return std::max(1, static_cast<std::int32_t>(spines));
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  const double rate = given.real("rate"), uplink_rate = rate_or(given, "uplink_rate", rate);
  if (given.given("spines") && given.given("taper"))
    throw UsageError("spines and taper both say how many spines there are; give one");
  const std::int32_t spines =
      given.integer("spines") > 0 ? count(given, "spines") : spines_for(given, uplink_rate);
  TreeShape shape;
  shape.levels = {{.down = count(given, "hosts_per_leaf"),
                   .parallel = network.graph.host_classes.front().adapters,
                   .rate = rate},
                  {.down = count(given, "leaves"),
                   .up = spines,
                   .parallel = count(given, "uplinks"),
                   .rate = uplink_rate}};
  shape.words = {"leaf", "spine"};
  shape.group_word = "leaf";
  shape.formula_source = " (Dally and Towles 2004, section 6.4)";
  make_tree(shape, vertices_max, network);
}

const std::array parameters = {
    count_parameter("leaves", "4", "leaf switches"),
    count_parameter("hosts_per_leaf", "16", "hosts on each leaf"),
    count_parameter("spines", "0", "spine switches; 0: as many as the taper requires", 0),
    program::Parameter{.name = "taper",
                       .kind = program::Parameter::Kind::real,
                       .initial = "1",
                       .help = "rate of a leaf's hosts together, over that of its uplinks",
                       .choices = {},
                       .minimum = 1e-3,
                       .maximum = 1e6},
    count_parameter("uplinks", "1", "cables from each leaf to each spine, among which flows are spread", 1,
                    1e6),
    host_rate_parameter(),
    rate_parameter("uplink_rate", "", "rate of each cable to a spine; without it, that of the hosts"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(clos,
                          {.name = "clos",
                           .summary = "Leaf and spine switches, each leaf wired to each spine, with a taper",
                           .source = "Clos 1953, folded; Dally and Towles 2004, section 6.4",
                           .parameters = parameters,
                           .make = make})
