// How FT's three-dimensional array is shared, as in NPB's MPI version (NPB 3.3, FT/ft.f: slabs while there
// are planes for all ranks, else pencils), and the transpositions between the layouts.
//
//   x_rows  [z of p2][y of p1][x]      y_rows  [z of p2][x of p1][y]      z_rows  [y of p2][x of p1][z]
//
// "of p1" is the part of a rank of p1 ranks. The way from x_rows to y_rows is an all-to-all in a row of the
// grid of ranks, of p1 ranks: none for slabs. From y_rows to z_rows it is one in a column, of p2 ranks: all,
// for slabs.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"

namespace crosscut::npb::ft {

using Extents = std::array<std::size_t, 3>;  // of x, y, z

class Layout {
 public:
  Layout(Communicator& world, Extents whole, std::array<int, 2> grid);

  const Extents& whole() const { return whole_; }
  std::size_t local_elements() const { return whole_[0] * y1() * z2(); }
  // Extents here, and where this rank's part begins: y and z in x_rows, x and y in z_rows.
  std::size_t y1() const { return whole_[1] / p1(); }
  std::size_t z2() const { return whole_[2] / p2(); }
  std::size_t x1() const { return whole_[0] / p1(); }
  std::size_t y2() const { return whole_[1] / p2(); }
  std::size_t first_y1() const { return static_cast<std::size_t>(row_.rank()) * y1(); }
  std::size_t first_z2() const { return static_cast<std::size_t>(column_.rank()) * z2(); }
  std::size_t first_x1() const { return static_cast<std::size_t>(row_.rank()) * x1(); }
  std::size_t first_y2() const { return static_cast<std::size_t>(column_.rank()) * y2(); }

  // In place, with `scratch` of the same size.
  void x_to_y_rows(std::vector<Complex>& data, std::vector<Complex>& scratch);
  void y_to_x_rows(std::vector<Complex>& data, std::vector<Complex>& scratch);
  void y_to_z_rows(std::vector<Complex>& data, std::vector<Complex>& scratch);
  void z_to_y_rows(std::vector<Complex>& data, std::vector<Complex>& scratch);

 private:
  std::size_t p1() const { return static_cast<std::size_t>(row_.size()); }
  std::size_t p2() const { return static_cast<std::size_t>(column_.size()); }

  Extents whole_;
  Communicator row_;
  Communicator column_;
};

}  // namespace crosscut::npb::ft
