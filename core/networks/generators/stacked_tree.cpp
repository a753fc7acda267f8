// Leaf switches under one root: usually the first network bought, limited by its uplinks.
#include <array>

#include "networks/generators/fat_tree.hpp"

namespace crosscut::networks::generators {
namespace {

// Salmon, Stein and Sterling (SC98) compare their meta-nodes with L switches of P nodes under one root, with
// uplinks of u: u / P for each node of one half. Here, as in their figures, u is in units of a host's link.
void add_salmon_figure(const program::Parameters& given, double uplink_rate, ClosedForms& forms) {
  const double uplink_in_links =
      uplink_rate * static_cast<double>(given.integer("uplinks")) / given.real("rate");
  forms.further.push_back(
      {"tree_bisection_per_node",
       "u / P links, uplinks of one half over the N / 2 nodes of that half (Salmon et al. 1998)",
       uplink_in_links / static_cast<double>(given.integer("hosts_per_leaf"))});
}

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  const double rate = given.real("rate"), uplink_rate = rate_or(given, "uplink_rate", rate);
  const bool pooled = given.text("spread") == "pooled";
  const std::int32_t uplinks = count(given, "uplinks");
  TreeShape shape;
  shape.levels = {{.down = count(given, "hosts_per_leaf"),
                   .parallel = network.graph.host_classes.front().adapters,
                   .rate = rate},
                  {.down = count(given, "leaves"),
                   .parallel = pooled ? 1 : uplinks,
                   .rate = pooled ? uplink_rate * uplinks : uplink_rate,
                   .cables = pooled ? uplinks : 1}};
  shape.words = {"leaf", "root"};
  shape.group_word = "leaf";
  shape.formula_source = " (a tree: Dally and Towles 2004, section 6.4)";
  make_tree(shape, vertices_max, network);
  add_salmon_figure(given, uplink_rate, network.forms);
}

const std::array parameters = {
    count_parameter("leaves", "8", "leaf switches"),
    count_parameter("hosts_per_leaf", "16", "hosts on each leaf"),
    count_parameter("uplinks", "1", "cables from each leaf to the root", 1, 1e6),
    program::Parameter{
        .name = "spread",
        .kind = program::Parameter::Kind::choice,
        .initial = "pooled",
        .help = "pooled: the uplinks of a leaf carry as one; flow: each flow keeps to one of them",
        .choices = {"pooled", "flow"}},
    host_rate_parameter(),
    rate_parameter("uplink_rate", "", "rate of each uplink; without it, that of the hosts"),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(stacked_tree, {.name = "stacked-tree",
                                         .summary = "Leaf switches under one root switch, by trunked uplinks",
                                         .source = "Kurmann, Rauch and Stricker 2003, section 3.1 (the "
                                                   "maintenance network); Salmon, Stein and Sterling, SC98",
                                         .parameters = parameters,
                                         .make = make})
