// 5 x 5 blocks of two lines at once.
#pragma once

#include "npb/bt/jacobian.hpp"

namespace crosscut::npb::bt {

using multipartition::components;
using multipartition::Pair;

struct Vector {
  Pair at[components];
};

// target -= a b
inline void subtract_product(const Matrix& a, const Matrix& b, Matrix& target) {
  for (std::size_t i = 0; i < components; ++i)
    for (std::size_t j = 0; j < components; ++j) {
      Pair sum = target.at[i][j];
      for (std::size_t k = 0; k < components; ++k) sum -= a.at[i][k] * b.at[k][j];
      target.at[i][j] = sum;
    }
}

inline void subtract_product(const Matrix& a, const Vector& b, Vector& target) {
  for (std::size_t i = 0; i < components; ++i) {
    Pair sum = target.at[i];
    for (std::size_t k = 0; k < components; ++k) sum -= a.at[i][k] * b.at[k];
    target.at[i] = sum;
  }
}

// block and right become the solutions x of a x = block, a x = right; a is used up. Blocks are dominated by
// their diagonals (the time step is short), so that there is no need to look for pivots; nor does NPB.
inline void solve(Matrix& a, Matrix& block, Vector& right) {
  for (std::size_t i = 0; i < components; ++i) {
    const Pair inverse = 1.0 / a.at[i][i];
    for (std::size_t j = i + 1; j < components; ++j) a.at[i][j] *= inverse;
    for (std::size_t j = 0; j < components; ++j) block.at[i][j] *= inverse;
    right.at[i] *= inverse;
    for (std::size_t below = i + 1; below < components; ++below) {
      const Pair factor = a.at[below][i];
      for (std::size_t j = i + 1; j < components; ++j) a.at[below][j] -= factor * a.at[i][j];
      for (std::size_t j = 0; j < components; ++j) block.at[below][j] -= factor * block.at[i][j];
      right.at[below] -= factor * right.at[i];
    }
  }
  for (std::size_t i = components - 1; i-- > 0;)
    for (std::size_t j = i + 1; j < components; ++j) {
      for (std::size_t k = 0; k < components; ++k) block.at[i][k] -= a.at[i][j] * block.at[j][k];
      right.at[i] -= a.at[i][j] * right.at[j];
    }
}

}  // namespace crosscut::npb::bt
