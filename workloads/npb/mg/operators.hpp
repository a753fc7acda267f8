// The operators of MG (RNR-94-007, section 2.2.2): stencils of 27 points with one weight for the centre, one
// each for its 6 faces, 12 edges and 8 corners. They read a grid with its layer and write points without.
#pragma once

#include <array>

#include "npb/mg/grid.hpp"

namespace crosscut::npb::mg {

// Centre, faces, edges, corners.
using Weights = std::array<double, 4>;

// result = right - A solution, with A of weights -8/3, 0, 1/6, 1/12. `result` may be `right`.
void residual(const Grid& solution, const Grid& right, Grid& result);

// solution += S residual; the corners of S weigh nothing.
void smooth(const Grid& residual, Grid& solution, const Weights& weights);

// The finer grid's values around each point of the coarser one, with weights 1/2, 1/4, 1/8, 1/16.
void restrict_to_coarser(const Grid& finer, Grid& coarser);

// finer += trilinear interpolation of coarser.
void interpolate(const Grid& coarser, Grid& finer);

}  // namespace crosscut::npb::mg
