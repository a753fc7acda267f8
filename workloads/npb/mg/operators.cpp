#include "npb/mg/operators.hpp"

#include <cstddef>
#include <vector>

namespace crosscut::npb::mg {

namespace {

// Of a row's four neighbouring rows and its four diagonal ones, the sums, point by point: what the points of
// a row have in common.
class Sums {
 public:
  explicit Sums(std::size_t length) : beside(length), diagonal(length) {}

  void gather(const Grid& grid, std::size_t j, std::size_t k) {
    const double* south = grid.row(j - 1, k);
    const double* north = grid.row(j + 1, k);
    const double* low = grid.row(j, k - 1);
    const double* high = grid.row(j, k + 1);
    const double* south_low = grid.row(j - 1, k - 1);
    const double* north_low = grid.row(j + 1, k - 1);
    const double* south_high = grid.row(j - 1, k + 1);
    const double* north_high = grid.row(j + 1, k + 1);
    for (std::size_t i = 0; i < beside.size(); ++i) {
      beside[i] = south[i] + north[i] + low[i] + high[i];
      diagonal[i] = south_low[i] + north_low[i] + south_high[i] + north_high[i];
    }
  }

  std::vector<double> beside;
  std::vector<double> diagonal;
};

// Where coarser point c lies on the finer grid, both counted with their layers: at 2c, or, on a finer grid of
// one point, which is an odd one, at 2c - 1.
std::size_t fine_shift(const Grid& finer, std::size_t dimension) {
  return finer.extent(dimension) == 3 ? 1 : 0;
}

}  // namespace

void residual(const Grid& solution, const Grid& right, Grid& result) {
  constexpr Weights a{-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
  const std::size_t length = solution.extent(0);
  Sums sums(length);
  for (std::size_t k = 1; k + 1 < solution.extent(2); ++k) {
    for (std::size_t j = 1; j + 1 < solution.extent(1); ++j) {
      sums.gather(solution, j, k);
      const double* own = solution.row(j, k);
      const double* given = right.row(j, k);
      const double* beside = sums.beside.data();
      const double* diagonal = sums.diagonal.data();
      double* out = result.row(j, k);
      for (std::size_t i = 1; i + 1 < length; ++i)
        out[i] = given[i] - a[0] * own[i] - a[2] * (diagonal[i] + beside[i - 1] + beside[i + 1]) -
                 a[3] * (diagonal[i - 1] + diagonal[i + 1]);
    }
  }
}

void smooth(const Grid& residual, Grid& solution, const Weights& weights) {
  const std::size_t length = residual.extent(0);
  Sums sums(length);
  for (std::size_t k = 1; k + 1 < residual.extent(2); ++k) {
    for (std::size_t j = 1; j + 1 < residual.extent(1); ++j) {
      sums.gather(residual, j, k);
      const double* own = residual.row(j, k);
      const double* beside = sums.beside.data();
      const double* diagonal = sums.diagonal.data();
      double* out = solution.row(j, k);
      for (std::size_t i = 1; i + 1 < length; ++i)
        out[i] += weights[0] * own[i] + weights[1] * (own[i - 1] + own[i + 1] + beside[i]) +
                  weights[2] * (diagonal[i] + beside[i - 1] + beside[i + 1]);
    }
  }
}

void restrict_to_coarser(const Grid& finer, Grid& coarser) {
  const std::size_t shift = fine_shift(finer, 0);
  Sums sums(finer.extent(0));
  for (std::size_t k = 1; k + 1 < coarser.extent(2); ++k) {
    for (std::size_t j = 1; j + 1 < coarser.extent(1); ++j) {
      const std::size_t fine_j = 2 * j - fine_shift(finer, 1);
      const std::size_t fine_k = 2 * k - fine_shift(finer, 2);
      sums.gather(finer, fine_j, fine_k);
      const double* own = finer.row(fine_j, fine_k);
      const double* beside = sums.beside.data();
      const double* diagonal = sums.diagonal.data();
      double* out = coarser.row(j, k);
      for (std::size_t i = 1; i + 1 < coarser.extent(0); ++i) {
        const std::size_t at = 2 * i - shift;
        out[i] = 0.5 * own[at] + 0.25 * (own[at - 1] + own[at + 1] + beside[at]) +
                 0.125 * (beside[at - 1] + beside[at + 1] + diagonal[at]) +
                 0.0625 * (diagonal[at - 1] + diagonal[at + 1]);
      }
    }
  }
}

namespace {

// To a row of the finer grid: `values` are what the coarser grid has there, at every second point.
void add_row(const std::vector<double>& values, double* out, std::size_t shift) {
  for (std::size_t i = shift; i + 1 < values.size(); ++i) out[2 * i - shift] += values[i];
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    out[2 * i + 1 - shift] += 0.5 * (values[i] + values[i + 1]);
}

// The mean of coarser rows j, or j and j + 1, of planes k, or k and k + 1.
void mean_row(const Grid& coarser, std::size_t j, std::size_t k, bool next_j, bool next_k,
              std::vector<double>& values) {
  const std::size_t j2 = j + (next_j ? 1 : 0);
  const std::size_t k2 = k + (next_k ? 1 : 0);
  const double *a = coarser.row(j, k), *b = coarser.row(j2, k), *c = coarser.row(j, k2),
               *d = coarser.row(j2, k2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.25 * ((a[i] + b[i]) + (c[i] + d[i]));
}

}  // namespace

void interpolate(const Grid& coarser, Grid& finer) {
  std::vector<double> values(coarser.extent(0));
  const std::size_t shift = fine_shift(finer, 0);
  const std::size_t shift_j = fine_shift(finer, 1);
  const std::size_t shift_k = fine_shift(finer, 2);
  for (std::size_t k = 0; k + 1 < coarser.extent(2); ++k) {
    for (const bool next_k : {false, true}) {
      if (!next_k && k < shift_k) continue;
      for (std::size_t j = 0; j + 1 < coarser.extent(1); ++j) {
        for (const bool next_j : {false, true}) {
          if (!next_j && j < shift_j) continue;
          mean_row(coarser, j, k, next_j, next_k, values);
          add_row(values, finer.row(2 * j + (next_j ? 1 : 0) - shift_j, 2 * k + (next_k ? 1 : 0) - shift_k),
                  shift);
        }
      }
    }
  }
}

}  // namespace crosscut::npb::mg
