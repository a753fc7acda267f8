// Computing with a known number of operations, whose result shows that all of them were done.
#pragma once

#include <cstdint>
#include <span>

namespace crosscut::program {

inline constexpr double operations_per_round = 2;  // per element: a multiplication and an addition

// Each round replaces every x by x/2 + h, where h is half of the element's initial value. Halving and adding
// halves is exact in binary, so whole numbers keep their values, whatever the compiler does. Works on pieces
// that fit the first-level cache.
void compute(std::span<double> values, std::int64_t rounds);

}  // namespace crosscut::program
