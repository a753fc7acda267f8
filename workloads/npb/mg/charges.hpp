// The right hand side of MG (RNR-94-007, section 2.2.2): +1 at the ten points where a grid of random numbers
// is largest, -1 at the ten where it is smallest, 0 elsewhere.
#pragma once

#include "npb/common/communicator.hpp"
#include "npb/mg/grid.hpp"
#include "npb/mg/levels.hpp"

namespace crosscut::npb::mg {

// Sets the points of this rank's part of the finest grid, without the layer around it.
void place_charges(Communicator& world, const Levels& levels, Grid& grid);

}  // namespace crosscut::npb::mg
