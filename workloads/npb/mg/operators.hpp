// The operators of MG (RNR-94-007, section 2.2.2): stencils of 27 points with one weight each for the centre,
// the 6 faces, 12 edges and 8 corners. They read a grid with its layer and write points without it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "npb/mg/grid.hpp"

namespace crosscut::npb::mg {

// Weights of centre, faces, edges, corners.
using Weights = std::array<double, 4>;

// A row of points, and point by point the sums of its four neighbouring rows and of its four diagonal rows:
// the terms that the row's points have in common.
class Sums {
 public:
  struct Row {
    const double *own, *beside, *diagonal;
  };

  explicit Sums(const Grid& grid) : grid_(grid), beside_(grid.extent(0)), diagonal_(grid.extent(0)) {}

  Row gather(std::size_t j, std::size_t k) {
    sum(grid_.row(j - 1, k), grid_.row(j + 1, k), grid_.row(j, k - 1), grid_.row(j, k + 1), beside_);
    sum(grid_.row(j - 1, k - 1), grid_.row(j + 1, k - 1), grid_.row(j - 1, k + 1), grid_.row(j + 1, k + 1),
        diagonal_);
    return {grid_.row(j, k), beside_.data(), diagonal_.data()};
  }

 private:
  static void sum(const double* a, const double* b, const double* c, const double* d,
                  std::vector<double>& sums) {
    double* __restrict to = sums.data();
    for (std::size_t i = 0, count = sums.size(); i < count; ++i) to[i] = a[i] + b[i] + c[i] + d[i];
  }

  const Grid& grid_;
  std::vector<double> beside_, diagonal_;
};

// Computes result = right - A solution, where A has the weights -8/3, 0, 1/6, 1/12. `result` may be `right`.
inline void residual(const Grid& solution, const Grid& right, Grid& result) {
  constexpr Weights a{-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
  Sums sums(solution);
  result.for_each_inner_row([&](std::size_t j, std::size_t k) {
    const auto [own, beside, diagonal] = sums.gather(j, k);
    const double* given = right.row(j, k);
    double* out = result.row(j, k);
    for (std::size_t i = 1; i + 1 < result.extent(0); ++i)
      out[i] = given[i] - a[0] * own[i] - a[2] * (diagonal[i] + beside[i - 1] + beside[i + 1]) -
               a[3] * (diagonal[i - 1] + diagonal[i + 1]);
  });
}

// Computes solution += S residual; the corners of S have weight 0.
inline void smooth(const Grid& residual, Grid& solution, Weights weights) {
  Sums sums(residual);
  solution.for_each_inner_row([&](std::size_t j, std::size_t k) {
    const auto [own, beside, diagonal] = sums.gather(j, k);
    double* __restrict out = solution.row(j, k);
    for (std::size_t i = 1; i + 1 < solution.extent(0); ++i)
      out[i] += weights[0] * own[i] + weights[1] * (own[i - 1] + own[i + 1] + beside[i]) +
                weights[2] * (diagonal[i] + beside[i - 1] + beside[i + 1]);
  });
}

// Returns the shift of coarser points on the finer grid: point c lies at 2c - shift, both counted with their
// layers. The shift is 1 on a finer grid of one point, which is an odd one, and 0 otherwise.
inline std::size_t fine_shift(const Grid& finer, std::size_t dimension) {
  return finer.extent(dimension) == 3 ? 1 : 0;
}

// Sums the finer grid's values around each point of the coarser one, with weights 1/2, 1/4, 1/8, 1/16.
inline void restrict_to_coarser(const Grid& finer, Grid& coarser) {
  const std::size_t shift = fine_shift(finer, 0);
  Sums sums(finer);
  coarser.for_each_inner_row([&](std::size_t j, std::size_t k) {
    const auto [own, beside, diagonal] =
        sums.gather(2 * j - fine_shift(finer, 1), 2 * k - fine_shift(finer, 2));
    double* __restrict out = coarser.row(j, k);
    for (std::size_t i = 1; i + 1 < coarser.extent(0); ++i) {
      const std::size_t at = 2 * i - shift;
      out[i] = 0.5 * own[at] + 0.25 * (own[at - 1] + own[at + 1] + beside[at]) +
               0.125 * (beside[at - 1] + beside[at + 1] + diagonal[at]) +
               0.0625 * (diagonal[at - 1] + diagonal[at + 1]);
    }
  });
}

// Adds to a row of the finer grid. `values` are those of the coarser grid there, at every second point.
inline void add_row(const double* values, std::size_t count, double* __restrict out, std::size_t shift) {
  if (shift == 0) {  // one pass over all but the smallest grids
    for (std::size_t i = 0; i + 1 < count; ++i) {
      out[2 * i] += values[i];
      out[2 * i + 1] += 0.5 * (values[i] + values[i + 1]);
    }
    return;
  }
  for (std::size_t i = shift; i + 1 < count; ++i) out[2 * i - shift] += values[i];
  for (std::size_t i = 0; i + 1 < count; ++i) out[2 * i + 1 - shift] += 0.5 * (values[i] + values[i + 1]);
}

// Adds the trilinear interpolation of `coarser` to `finer`.
inline void interpolate(const Grid& coarser, Grid& finer) {
  const std::size_t shift = fine_shift(finer, 0), shift_j = fine_shift(finer, 1),
                    shift_k = fine_shift(finer, 2);
  std::vector<double> mean(coarser.extent(0));
  // A row of the finer grid lies on a coarser one, or between two or four, and takes their mean.
  for (std::size_t fine_k = shift_k; fine_k + 2 < 2 * coarser.extent(2); ++fine_k)
    for (std::size_t fine_j = shift_j; fine_j + 2 < 2 * coarser.extent(1); ++fine_j) {
      const std::size_t j = fine_j / 2, next_j = (fine_j + 1) / 2, k = fine_k / 2, next_k = (fine_k + 1) / 2;
      const double *a = coarser.row(j, k), *b = coarser.row(next_j, k), *c = coarser.row(j, next_k),
                   *d = coarser.row(next_j, next_k);
      const bool lies_on_one = j == next_j && k == next_k;
      double* __restrict to = mean.data();
      if (j != next_j && k != next_k) {
        for (std::size_t i = 0; i < mean.size(); ++i) to[i] = 0.25 * ((a[i] + b[i]) + (c[i] + d[i]));
      } else if (!lies_on_one) {
        for (std::size_t i = 0; i < mean.size(); ++i) to[i] = 0.5 * (a[i] + d[i]);
      }
      add_row(lies_on_one ? a : mean.data(), mean.size(), finer.row(fine_j - shift_j, fine_k - shift_k),
              shift);
    }
}

}  // namespace crosscut::npb::mg
