// The gas as a rank knows it: its cells, the right hand side of a time step, and how far from the exact
// solution it is.
#pragma once

#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/multipartition/block.hpp"
#include "npb/multipartition/faces.hpp"
#include "npb/multipartition/partition.hpp"

namespace crosscut::npb::multipartition {

class Flow {
 public:
  Flow(Communicator& world, const Partition& partition, const Grid& grid);

  std::vector<Block>& blocks() { return blocks_; }

  // The solution as the computation begins; the layers around cells, which come in messages, stay.
  void set_initial();
  // After an exchange of faces: what a time step would change, without what is implicit.
  void find_right_side();
  // After a time step.
  void add_change();

  // Roots of the mean squares, by component. NPB divides by the points within the boundary, though errors
  // of those on it would count, too.
  State error_norm();
  State right_side_norm();

 private:
  State norm_of(const State& sum_of_squares);

  Communicator& world_;
  const Grid grid_;
  Faces faces_;
  std::vector<Block> blocks_;
};

}  // namespace crosscut::npb::multipartition
