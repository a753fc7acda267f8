// Numbers that LU's result is judged by, of all ranks together (NPB 3.4, LU: l2norm, error, pintgr).
#pragma once

#include "npb/common/communicator.hpp"
#include "npb/lu/field.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

// The root of the mean square of each component, of all points inside the cube.
Values norm(Communicator& world, const Subdomain& domain, const Field& field);

// The same of what `u` is away from the exact solution.
Values error(Communicator& world, const Subdomain& domain, const Field& u);

}  // namespace crosscut::npb::lu
