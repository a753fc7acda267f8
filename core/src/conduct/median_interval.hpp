// How well a median is known, without assuming a distribution.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace crosscut::conduct {

// Indices (from 0) into n sorted values, such that the true median lies between them with at least 95 %
// probability: order statistics, binomial with p = 1/2 (Conover, Practical Nonparametric Statistics,
// section 3.2; Le Boudec, Performance Evaluation of Computer and Communication Systems, section 2.2). n < 6:
// no such pair, and the extremes are returned.
std::pair<std::size_t, std::size_t> median_interval_indices(std::size_t n);

// (upper - lower) / median; infinity for fewer than six values.
double relative_interval_width(std::vector<double> values);

}  // namespace crosscut::conduct
