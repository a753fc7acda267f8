// The messages of LU between neighbours (NPB 3.4, LU: exchange_1, exchange_3).
#pragma once

#include <cstddef>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/lu/field.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

class Halo {
 public:
  Halo(Communicator& world, const Subdomain& domain);

  // Fills both layers along dimension 0 or 1: from the neighbour before and then from that after.
  void exchange(Field& field, std::size_t dimension);

  // One plane of a sweep: the layer next to ours, from the neighbours on `from`, along x and then along y;
  // and our outermost points, for the neighbours on `to`. Points on the cube's faces stay out.
  void receive_plane(Field& field, Index z, Side from);
  void send_plane(const Field& field, Index z, Side to);

 private:
  Communicator& world_;
  const Subdomain& domain_;
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace crosscut::npb::lu
