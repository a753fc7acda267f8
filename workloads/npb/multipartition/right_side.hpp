// The right hand side of SP and BT: the discretised equations without their time derivative
// (RNR-94-007, section 3).
#pragma once

#include "npb/multipartition/block.hpp"

namespace crosscut::npb::multipartition {

// From the solution, in the cell and one layer around it: velocity, pressure and so on.
void find_derived(Block& block);

// Adds fluxes, viscous terms and artificial dissipation along all dimensions, for all points that are not on
// the boundary. Reads the solution in two layers around the cell, and what was derived in one.
void add_spatial_terms(const Block& block, std::array<Values, components>& sum);

}  // namespace crosscut::npb::multipartition
