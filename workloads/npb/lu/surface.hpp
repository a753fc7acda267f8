// The integral of the pressure over the faces of a box within the cube (NPB 3.4, LU: pintgr, exchange_4 to
// 6).
#pragma once

#include "npb/common/communicator.hpp"
#include "npb/lu/field.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

double surface_integral(Communicator& world, const Subdomain& domain, const Field& u);

}  // namespace crosscut::npb::lu
