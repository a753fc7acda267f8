// Confidence interval of a median, without assuming a distribution.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace crosscut::conduct {

// Returns indices (from 0) into n sorted values between which the true median lies with at least 95 %
// probability: order statistics, binomial with p = 1/2 (Conover, Practical Nonparametric Statistics, section
// 3.2; Le Boudec, Performance Evaluation of Computer and Communication Systems, section 2.2). For n < 6 there
// is no such pair; returns the extremes.
std::pair<std::size_t, std::size_t> median_interval_indices(std::size_t n);

// Returns the factor by which the indices lie farther from the middle because values that follow each other
// are alike: the square root of the variance inflation of the number of values below the median.
// `in_time_order` are repetitions as they were measured. Their ranks' correlation at lag one, corrected for
// its bias (Kendall, Biometrika 41, 1954) and raised by three quarters of its standard error, is taken for
// that of a Gaussian process of first order, whose signs correlate by the arcsine law. docs/coverage.py shows
// what this covers; src/crosscut/analysis/stats/intervals.py computes the same. 1 for fewer than 20 values,
// which do not tell.
double interval_stretch(std::span<const double> in_time_order);

// (upper - lower) / median; infinity for fewer than six values. The extremes bound the interval if values are
// too much alike in time for any others.
double relative_interval_width(std::vector<double> in_time_order);

}  // namespace crosscut::conduct
