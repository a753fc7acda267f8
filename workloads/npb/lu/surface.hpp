// The integral of the pressure over the faces of a box within the cube (NPB 3.4, LU: pintgr, exchange_4 to
// 6).
#pragma once

#include "communicator.hpp"
#include "field.hpp"
#include "subdomain.hpp"

namespace crosscut::npb {

double surface_integral(Communicator& world, const Subdomain& domain, const Field& u);

}  // namespace crosscut::npb
