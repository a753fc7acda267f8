// Division of FT's three-dimensional array among ranks, as in NPB's MPI version (NPB 3.3, FT/ft.f: slabs if
// there are enough planes for all ranks, otherwise pencils), and the transpositions between the layouts.
//
//   x_rows  [z of p2][y of p1][x]      y_rows  [z of p2][x of p1][y]      z_rows  [y of p2][x of p1][z]
//
// "of p1" is one rank's part of a dimension that p1 ranks share. From x_rows to y_rows is an all-to-all in a
// row of the grid of ranks, p1 ranks; slabs need none. From y_rows to z_rows is one in a column, p2 ranks;
// for slabs these are all ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"

namespace crosscut::npb::ft {

using Extents = std::array<std::size_t, 3>;  // of x, y, z

class Layout {
 public:
  Layout(Communicator& world, Extents whole, std::array<int, 2> grid)
      : whole_(whole),
        row_(world.split(world.rank() / grid[0])),
        column_(world.split(world.rank() % grid[0])) {}

  const Extents& whole() const { return whole_; }
  std::size_t local_elements() const { return whole_[0] * y1() * z2(); }
  // Extents here, and where this rank's part begins: of y and z in x_rows, of x and y in z_rows.
  std::size_t y1() const { return whole_[1] / p1(); }
  std::size_t z2() const { return whole_[2] / p2(); }
  std::size_t x1() const { return whole_[0] / p1(); }
  std::size_t y2() const { return whole_[1] / p2(); }
  std::size_t first_y1() const { return static_cast<std::size_t>(row_.rank()) * y1(); }
  std::size_t first_z2() const { return static_cast<std::size_t>(column_.rank()) * z2(); }
  std::size_t first_x1() const { return static_cast<std::size_t>(row_.rank()) * x1(); }
  std::size_t first_y2() const { return static_cast<std::size_t>(column_.rank()) * y2(); }

  // A transposition among `ranks`: rows along one dimension become rows of length `whole` along another. For
  // each rank it consists of `count` transpositions of matrices of rows x columns elements.
  struct Turn {
    Communicator& ranks;
    std::size_t count, rows, columns;
    std::size_t step, rank_step, stride;     // before: between matrices, between ranks' parts, between rows
    std::size_t packed_step, packed_stride;  // in a message, which holds one rank's parts
    std::size_t whole;

    std::size_t part() const { return count * rows * columns; }
    std::size_t size() const { return static_cast<std::size_t>(ranks.size()); }
  };

  // Message layout: [z][x of r][y here].
  Turn x_to_y() {
    return {row_, z2(), y1(), x1(), y1() * whole_[0], x1(), whole_[0], x1() * y1(), y1(), whole_[1]};
  }

  // Message layout: [y of r][x][z here].
  Turn y_to_z() {
    return {column_, x1(), z2(), y2(), whole_[1], y2(), x1() * whole_[1], z2(), x1() * z2(), whole_[2]};
  }

  // Works in place; `scratch` must have the same size.
  static void turn(const Turn& by, std::vector<Complex>& data, std::vector<Complex>& scratch) {
    const std::size_t part = by.part(), ranks = by.size();
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < by.count; ++i)
        transpose({&data[i * by.step + r * by.rank_step], by.stride},
                  {&scratch[r * part + i * by.packed_step], by.packed_stride}, by.rows, by.columns);
    if (ranks > 1) {
      by.ranks.all_to_all(scratch, data);
      for (std::size_t r = 0; r < ranks; ++r)
        copy_rows({&data[r * part], by.rows}, {&scratch[r * by.rows], by.whole}, part / by.rows, by.rows);
    }
    data.swap(scratch);
  }

  static void turn_back(const Turn& by, std::vector<Complex>& data, std::vector<Complex>& scratch) {
    const std::size_t part = by.part(), ranks = by.size();
    if (ranks > 1) {
      for (std::size_t r = 0; r < ranks; ++r)
        copy_rows({&data[r * by.rows], by.whole}, {&scratch[r * part], by.rows}, part / by.rows, by.rows);
      by.ranks.all_to_all(scratch, data);
    }
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < by.count; ++i)
        transpose({&data[r * part + i * by.packed_step], by.packed_stride},
                  {&scratch[i * by.step + r * by.rank_step], by.stride}, by.columns, by.rows);
    data.swap(scratch);
  }

 private:
  // A matrix within an array: element (i, j) at data[i * stride + j].
  struct From {
    const Complex* data;
    std::size_t stride;
  };
  struct To {
    Complex* data;
    std::size_t stride;
  };

  // Sets to(j, i) = from(i, j), in tiles that fit the cache.
  static void transpose(From from, To to, std::size_t rows, std::size_t columns) {
    constexpr std::size_t tile = 16;
    for (std::size_t i0 = 0; i0 < rows; i0 += tile)
      for (std::size_t j0 = 0; j0 < columns; j0 += tile)
        for (std::size_t i = i0; i < std::min(i0 + tile, rows); ++i)
          for (std::size_t j = j0; j < std::min(j0 + tile, columns); ++j)
            to.data[j * to.stride + i] = from.data[i * from.stride + j];
  }

  static void copy_rows(From from, To to, std::size_t rows, std::size_t columns) {
    for (std::size_t i = 0; i < rows; ++i)
      std::copy_n(from.data + i * from.stride, columns, to.data + i * to.stride);
  }

  std::size_t p1() const { return static_cast<std::size_t>(row_.size()); }
  std::size_t p2() const { return static_cast<std::size_t>(column_.size()); }

  Extents whole_;
  Communicator row_;
  Communicator column_;
};

}  // namespace crosscut::npb::ft
