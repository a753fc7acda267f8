// 5 x 5 blocks of two lines at once.
#pragma once

#include "npb/common/jacobian.hpp"

namespace crosscut::npb::bt {

// target -= a b
inline void subtract_product(const Matrix<Pair>& a, const Matrix<Pair>& b, Matrix<Pair>& target) {
  for (std::size_t i = 0; i < components; ++i)
    for (std::size_t j = 0; j < components; ++j) {
      Pair sum = target[i][j];
      for (std::size_t k = 0; k < components; ++k) sum -= a[i][k] * b[k][j];
      target[i][j] = sum;
    }
}

inline void subtract_product(const Matrix<Pair>& a, const Vector<Pair>& b, Vector<Pair>& target) {
  for (std::size_t i = 0; i < components; ++i) {
    Pair sum = target[i];
    for (std::size_t k = 0; k < components; ++k) sum -= a[i][k] * b[k];
    target[i] = sum;
  }
}

// block and right become the solutions x of a x = block, a x = right; a is used up. Blocks are dominated by
// their diagonals (the time step is short), so that there is no need to look for pivots; nor does NPB.
inline void solve(Matrix<Pair>& a, Matrix<Pair>& block, Vector<Pair>& right) {
  for (std::size_t i = 0; i < components; ++i) {
    const Pair inverse = 1.0 / a[i][i];
    for (std::size_t j = i + 1; j < components; ++j) a[i][j] *= inverse;
    for (std::size_t j = 0; j < components; ++j) block[i][j] *= inverse;
    right[i] *= inverse;
    for (std::size_t below = i + 1; below < components; ++below) {
      const Pair factor = a[below][i];
      for (std::size_t j = i + 1; j < components; ++j) a[below][j] -= factor * a[i][j];
      for (std::size_t j = 0; j < components; ++j) block[below][j] -= factor * block[i][j];
      right[below] -= factor * right[i];
    }
  }
  for (std::size_t i = components - 1; i-- > 0;)
    for (std::size_t j = i + 1; j < components; ++j) {
      for (std::size_t k = 0; k < components; ++k) block[i][k] -= a[i][j] * block[j][k];
      right[i] -= a[i][j] * right[j];
    }
}

}  // namespace crosscut::npb::bt
