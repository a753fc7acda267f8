// Division of LU's cube among ranks, as in NPB's MPI version (NPB 3.4, LU: proc_grid, subdomain, neighbors).
// Ranks form a grid along x and y, with at least as many along x as along y and at most twice as many. Each
// has all points along z.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "npb/lu/flow.hpp"

namespace crosscut::npb::lu {

using Index = std::ptrdiff_t;

struct Range {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end - begin; }
};

// Five numbers at each point of a rank's part of the cube, and in two surrounding layers along x and y that
// belong to neighbours. Along z every rank has all points.
//
// A row (all points with the same y and z) stores first all densities, then all momenta along x, and so on:
// values that are computed together for neighbouring points lie together.
class Field {
 public:
  static constexpr Index layers = 2;

  // Sets all numbers to `value`, including layers that no neighbour fills.
  Field(Index x, Index y, Index z, double value)
      : pitch_((x + 2 * layers + lanes - 1) / lanes * lanes),
        rows_(y + 2 * layers),
        values_(static_cast<std::size_t>(z * rows_ * components * pitch_), value) {}

  // Strides: from one component of a point to the next; to the next y; to the next z.
  Index pitch() const { return pitch_; }
  Index y_step() const { return components * pitch_; }
  Index z_step() const { return rows_ * y_step(); }

  // Returns the address of the density at x = 0. x and y begin at -2.
  double* row(Index y, Index z) { return values_.data() + offset(y, z); }
  const double* row(Index y, Index z) const { return values_.data() + offset(y, z); }

  State at(Index x, Index y, Index z) const {
    const double* first = row(y, z) + x;
    return {first[0], first[pitch_], first[2 * pitch_], first[3 * pitch_], first[4 * pitch_]};
  }
  void set(Index x, Index y, Index z, const State& values) {
    double* to = row(y, z) + x;
    for (std::size_t m = 0; m < components; ++m) to[static_cast<Index>(m) * pitch_] = values[m];
  }

 private:
  Index offset(Index y, Index z) const { return z * z_step() + (y + layers) * y_step() + layers; }

  Index pitch_;
  Index rows_;
  std::vector<double> values_;
};

// Returns the number of ranks along x and y; nothing if `ranks` make no such grid.
inline std::optional<std::array<int, 2>> rank_grid(int ranks) {
  int y = 1;
  for (int next = 2; next <= ranks / next; ++next)
    if (ranks % next == 0) y = next;
  const int x = ranks / y;
  if (x > 2 * y) return std::nullopt;
  return std::array{x, y};
}

// Points that each rank needs along a dimension; with fewer, its layers would span several neighbours.
inline constexpr int least_points = 3;

inline constexpr std::array<std::size_t, 2> shared_dimensions{0, 1};  // x and y

enum Side : std::size_t { before, after };

// A rank's share of the points along one dimension.
struct Share {
  Index offset = 0;  // position of the first point in the cube
  Index points = 0;
  Range inner;                                  // points not on the cube's faces
  std::array<std::optional<int>, 2> neighbour;  // ranks, by Side; none at a face of the cube
};

class Subdomain {
 public:
  Subdomain(int side, std::array<int, 2> grid, int rank)
      : side_(side),
        grid_(grid),
        shares_{share(side, grid[0], rank % grid[0], rank, 1),
                share(side, grid[1], rank / grid[0], rank, grid[0]), share(side, 1, 0, rank, 0)} {}

  // Returns the points of the cube along each dimension.
  int side() const { return side_; }
  const std::array<int, 2>& grid() const { return grid_; }
  const Share& along(std::size_t dimension) const { return shares_[dimension]; }
  const Share& x() const { return shares_[0]; }
  const Share& y() const { return shares_[1]; }
  const Share& z() const { return shares_[2]; }

  Field field(double value) const { return {x().points, y().points, z().points, value}; }

 private:
  // Returns part `index` of `parts`, as even as possible, larger ones first; `stride`: to neighbouring ranks.
  static Share share(int side, int parts, int index, int rank, int stride) {
    Share part;
    const int larger = side % parts;
    part.points = side / parts + (index < larger ? 1 : 0);
    part.offset = index * (side / parts) + std::min(index, larger);
    if (index > 0) part.neighbour[before] = rank - stride;
    if (index + 1 < parts) part.neighbour[after] = rank + stride;
    part.inner = {index > 0 ? 0 : 1, index + 1 < parts ? part.points : part.points - 1};
    return part;
  }

  int side_;
  std::array<int, 2> grid_;
  std::array<Share, 3> shares_;
};

}  // namespace crosscut::npb::lu
