// Arithmetic with 5 x 5 matrices and vectors of 5: of one point (double), or of neighbouring points (Lanes).
#pragma once

#include <cstddef>
#include <cstring>

#include "npb/common/jacobian.hpp"

namespace crosscut::npb::lu {

using Lanes = Pair;
inline constexpr std::ptrdiff_t lanes = sizeof(Lanes) / sizeof(double);

inline Lanes load(const double* from) {
  Lanes values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

inline void store(const Lanes& values, double* to) { std::memcpy(to, &values, sizeof values); }

template <typename T>
Vector<T> multiply(const Matrix<T>& block, const Vector<T>& vector) {
  Vector<T> product;
  for (std::size_t m = 0; m < components; ++m)
    product[m] = block[m][0] * vector[0] + block[m][1] * vector[1] + block[m][2] * vector[2] +
                 block[m][3] * vector[3] + block[m][4] * vector[4];
  return product;
}

// Into its triangular factors, in place, without pivots: of the diagonally dominant blocks that LU has. On
// the diagonal is left its inverse.
template <typename T>
void factor(Matrix<T>& block) {
  for (std::size_t pivot = 0; pivot < components; ++pivot) {
    block[pivot][pivot] = 1.0 / block[pivot][pivot];
    for (std::size_t m = pivot + 1; m < components; ++m) {
      block[m][pivot] *= block[pivot][pivot];
      for (std::size_t n = pivot + 1; n < components; ++n) block[m][n] -= block[m][pivot] * block[pivot][n];
    }
  }
}

// The x of factors x = vector, in place.
template <typename T>
void solve(const Matrix<T>& factors, Vector<T>& vector) {
  for (std::size_t m = 1; m < components; ++m)
    for (std::size_t n = 0; n < m; ++n) vector[m] -= factors[m][n] * vector[n];
  for (std::size_t m = components; m-- > 0;) {
    for (std::size_t n = m + 1; n < components; ++n) vector[m] -= factors[m][n] * vector[n];
    vector[m] *= factors[m][m];
  }
}

}  // namespace crosscut::npb::lu
