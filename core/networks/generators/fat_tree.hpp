// Trees of switches in which a switch may have several parents and several cables to each: parallel-ports
// generalised fat trees, PGFT(h; m; w; p) of Zahavi, "D-Mod-K Routing Providing Non-Blocking Traffic for
// Shift Permutations on Real Life Fat Trees" (2010), section 3. With one parent each this is a plain tree;
// with two levels, a leaf and spine network.
//
// Hosts are level 0. A switch of level l is (block, index). Blocks are the subtrees of level l; all switches
// of one block have the same hosts below.
#pragma once

#include <string>
#include <vector>

#include "networks/generators/building.hpp"

namespace crosscut::networks::generators {

// Links between levels l and l + 1.
struct TreeLevel {
  std::int32_t down = 1;      // m: children of a switch of level l + 1
  std::int32_t up = 1;        // w: different parents of a vertex of level l
  std::int32_t parallel = 1;  // p: edges to each parent, over which flows are spread
  double rate = 0;            // bits/s of an edge
  int cables = 1;             // pooled in one edge
};

struct TreeShape {
  std::vector<TreeLevel> levels;   // from the hosts up; levels[0].up is 1
  std::vector<std::string> words;  // names of the switches of levels 1, 2, ..
  std::string group_word;          // name of the top's children as groups
  std::string formula_source;
};

// Fills in graph, router and closed forms.
void make_tree(const TreeShape& shape, std::int64_t vertices_max, Network& network);

}  // namespace crosscut::networks::generators
