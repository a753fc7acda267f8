// Confidence interval of a median, without assuming a distribution.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace crosscut::conduct {

// Returns indices (from 0) into n sorted values between which the true median lies with at least 95 %
// probability: order statistics, binomial with p = 1/2 (Conover, Practical Nonparametric Statistics, section
// 3.2; Le Boudec, Performance Evaluation of Computer and Communication Systems, section 2.2). For n < 6 there
// is no such pair; returns the extremes.
std::pair<std::size_t, std::size_t> median_interval_indices(std::size_t n);

// (upper - lower) / median; infinity for fewer than six values.
double relative_interval_width(std::vector<double> values);

}  // namespace crosscut::conduct
