// SP diagonalises the equations along each dimension (RNR-94-007, section 3): it solves for characteristic
// variables, which are others for x, y and z. These are the products of a matrix of eigenvectors, or its
// inverse, with the right hand side, point by point.
#pragma once

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/lines.hpp"

namespace crosscut::npb::sp {

using namespace multipartition;

// In the cell and one layer around it.
void find_sound(Block& block);

// The right hand side, from components to the variables of x.
void to_characteristic_of_x(Block& block);
// From those of z to components.
void from_characteristic_of_z(Block& block);

// From the variables of a dimension, x or y, to those of the next.
void turn_to_next(std::size_t dimension, Lanes (&right)[components]);

}  // namespace crosscut::npb::sp
