// The exact solution, and what is known of it at the start (NPB 3.4, LU: exact, setbv, setiv).
#pragma once

#include "npb/lu/field.hpp"
#include "npb/lu/size.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

// At a point of the unit cube.
Values exact(double x, double y, double z);

// At a point of a cube of `side` points along each dimension.
Values exact_at(Index x, Index y, Index z, int side);

// Everywhere the exact solution.
void set_exact(const Subdomain& domain, Field& field);

// On the faces of the cube the exact solution, inside a blend of what the six faces have beside the point.
void set_initial(const Subdomain& domain, Field& field);

}  // namespace crosscut::npb::lu
