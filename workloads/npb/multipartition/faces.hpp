// The exchange of SP and BT before every time step (NPB 3.3, copy_faces): two layers of points on all faces
// that cells share. In each direction, the faces of all of a rank's cells go to the same rank, in one
// message: six at once.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/multipartition/block.hpp"

namespace crosscut::npb::multipartition {

class Faces {
 public:
  Faces(Communicator& world, const Partition& partition) : world_(world), partition_(partition) {}

  // Fills the layers around the cells from the neighbours' solution. A single rank has no neighbours.
  void exchange(std::vector<Block>& blocks) {
    if (partition_.side() == 1) return;
    for (Side side = 0; side < sides; ++side) {
      out_[side].clear();
      for_each_row(blocks, side, false, [&](const double* from, Index length) {
        out_[side].insert(out_[side].end(), from, from + length);
      });
      in_[side].resize(out_[side].size());
    }
    std::array<MPI_Request, 2 * sides> requests{};
    // A message's tag is the side by which it leaves.
    for (Side side = 0; side < sides; ++side)
      requests[side] = world_.receive_later(in_[side], rank_at(side), static_cast<int>(opposite(side)));
    for (Side side = 0; side < sides; ++side)
      requests[sides + side] = world_.send_later(out_[side], rank_at(side), static_cast<int>(side));
    world_.wait_all(requests);
    for (Side side = 0; side < sides; ++side) {
      const double* next = in_[side].data();
      for_each_row(blocks, side, true, [&](double* to, Index length) {
        std::copy_n(next, length, to);
        next += length;
      });
    }
  }

 private:
  // Number of a cell's face: 2d for its last points along dimension d, 2d + 1 for its first.
  using Side = std::size_t;
  static constexpr Side sides = 2 * dimensions;
  static bool is_last(Side side) { return side % 2 == 0; }
  static Side opposite(Side side) { return side ^ 1; }
  int rank_at(Side side) const { return partition_.neighbour(side / 2, is_last(side) ? 1 : -1); }

  // Calls visit(first, length) for the rows of each component in the two layers of points at a side that
  // cells share: inside the cells, or `beyond` them.
  template <typename Visit>
  void for_each_row(std::vector<Block>& blocks, Side side, bool beyond, Visit&& visit) const {
    const std::size_t dimension = side / 2;
    for (Block& block : blocks) {
      const Cell& cell = block.cell;
      if (cell.place[dimension] == (is_last(side) ? partition_.side() - 1 : 0)) continue;
      Triple begin{}, end = cell.extent;
      const int edge = is_last(side) ? cell.extent[dimension] : 0;
      const bool upward = is_last(side) == beyond;
      begin[dimension] = upward ? edge : edge - static_cast<int>(Shape::layers);
      end[dimension] = begin[dimension] + static_cast<int>(Shape::layers);
      for (Values& component : block.solution)
        for (int k = begin[2]; k < end[2]; ++k)
          for (int j = begin[1]; j < end[1]; ++j)
            visit(component.data() + block.shape.at(begin[0], j, k), end[0] - begin[0]);
    }
  }

  Communicator& world_;
  const Partition& partition_;
  std::array<std::vector<double>, sides> out_;  // by the side of the cell by which they leave
  std::array<std::vector<double>, sides> in_;   // by the side by which they arrive
};

}  // namespace crosscut::npb::multipartition
