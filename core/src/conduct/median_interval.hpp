// Distribution-free confidence interval of a median.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace crosscut::conduct {

// Returns the indices (from 0) of two of n sorted values that enclose the true median with a probability of
// at least 95 %: order statistics, binomial with p = 1/2 (Conover, Practical Nonparametric Statistics,
// section 3.2; Le Boudec, Performance Evaluation of Computer and Communication Systems, section 2.2). For n <
// 6 no such pair exists, and the extremes are returned.
std::pair<std::size_t, std::size_t> median_interval_indices(std::size_t n);

// Returns the factor by which serial correlation moves the indices away from the middle: the square root of
// the variance inflation of the number of values below the median. `in_time_order` holds the repetitions in
// the order of measurement. Their lag-one rank correlation is corrected for its bias (Kendall, Biometrika 41,
// 1954), raised by three quarters of its standard error, and taken as that of a first-order Gaussian
// process, whose signs correlate by the arcsine law. docs/coverage.py shows the resulting coverage;
// src/crosscut/analysis/stats/intervals.py computes the same. Returns 1 for fewer than 20 values, which are
// too few to estimate a correlation.
double interval_stretch(std::span<const double> in_time_order);

// Returns the relative width of the median's 95 % interval, (upper - lower) / median; infinity for fewer than
// six values. Ignores NaN. If the serial correlation is too strong, the extremes bound the interval.
double relative_interval_width(std::vector<double> in_time_order);

}  // namespace crosscut::conduct
