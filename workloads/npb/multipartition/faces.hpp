// What SP and BT exchange before every time step (NPB 3.3, copy_faces): two layers of points on all faces
// that cells share. Those of all cells of a rank in one direction go to one other rank, and so in one
// message: six at once.
#pragma once

#include <array>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/multipartition/block.hpp"

namespace crosscut::npb::multipartition {

class Faces {
 public:
  Faces(Communicator& world, const Partition& partition);

  // Fills the layers around the cells from the neighbours' solution. One rank alone has one cell, and none.
  void exchange(std::vector<Block>& blocks);

 private:
  static constexpr std::size_t sides = 2 * dimensions;
  using Buffers = std::array<std::vector<double>, sides>;

  Communicator& world_;
  const Partition& partition_;
  Buffers out_;  // by the side of the cell that they leave by
  Buffers in_;   // by the side that they come in by
};

}  // namespace crosscut::npb::multipartition
