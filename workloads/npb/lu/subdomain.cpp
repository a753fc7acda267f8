#include "npb/lu/subdomain.hpp"

#include <algorithm>

namespace crosscut::npb::lu {

std::optional<std::array<int, 2>> rank_grid(int ranks) {
  int y = 1;
  for (int next = 2; next <= ranks / next; ++next)
    if (ranks % next == 0) y = next;
  const int x = ranks / y;
  if (x > 2 * y) return std::nullopt;
  return std::array{x, y};
}

namespace {

// Part `index` of `parts`, as even as can be, the larger ones first; ranks that differ by `stride` are
// neighbours.
Share share(int side, int parts, int index, int rank, int stride) {
  Share part;
  const int larger = side % parts;
  part.points = side / parts + (index < larger ? 1 : 0);
  part.offset = index * (side / parts) + std::min(index, larger);
  if (index > 0) part.neighbour[before] = rank - stride;
  if (index + 1 < parts) part.neighbour[after] = rank + stride;
  part.inner = {index > 0 ? 0 : 1, index + 1 < parts ? part.points : part.points - 1};
  return part;
}

}  // namespace

Subdomain::Subdomain(int side, std::array<int, 2> grid, int rank)
    : side_(side),
      grid_(grid),
      shares_{share(side, grid[0], rank % grid[0], rank, 1),
              share(side, grid[1], rank / grid[0], rank, grid[0]), share(side, 1, 0, rank, 0)} {}

}  // namespace crosscut::npb::lu
