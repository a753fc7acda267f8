// Computing of a known number of operations, whose result shows that all of it was done.
#pragma once

#include <cstdint>
#include <span>

namespace crosscut::program {

inline constexpr double operations_per_round = 2;  // of each element: a multiplication and an addition

// Each round makes x/2 + h of every x, with h half of what the element was in the beginning. Halving and
// adding halves is exact in binary, so whole numbers come out as they went in, and the result does not depend
// on the compiler. Works on pieces that stay in the first cache.
void compute(std::span<double> values, std::int64_t rounds);

}  // namespace crosscut::program
