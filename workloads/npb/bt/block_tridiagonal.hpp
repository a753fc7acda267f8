// The systems of BT (RNR-94-007, section 3): one per line, with three diagonals of 5 x 5 blocks.
#pragma once

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/lines.hpp"
#include "npb/multipartition/sweep.hpp"

namespace crosscut::npb::bt {

using namespace multipartition;

// 5 x 5 blocks of two lines at once.

// Computes target -= a b.
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

// Replaces block and right by the solutions x of a x = block and a x = right; destroys a. Blocks are
// diagonally dominant (the time step is short), so pivoting is unnecessary; NPB does not pivot, either.
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

// A point's contribution to the equations around it.
struct Shares {
  Matrix<Pair> to_next;      // left of the diagonal, in the next point's row
  Matrix<Pair> own;          // on the diagonal
  Matrix<Pair> to_previous;  // right of the diagonal, in the previous point's row
};

inline void find_shares(const Point<Pair>& point, const Grid& grid, std::size_t dimension, Shares& shares) {
  const double first = grid.time_step * grid.first_weight();
  const double second = grid.time_step * grid.second_weight();
  const Matrix<Pair> flux = flux_jacobian(point, dimension);
  Matrix<Pair> viscous{};
  add_diffusion_jacobian(viscous, point, viscosities(dimension), conductivity * viscosity, 1);
  for (std::size_t i = 0; i < components; ++i) viscous[i][i] += diffusion[dimension];
  for (std::size_t i = 0; i < components; ++i)
    for (std::size_t j = 0; j < components; ++j) {
      const Pair across = first * flux[i][j], spread = second * viscous[i][j];
      shares.to_next[i][j] = -across - spread;
      shares.own[i][j] = 2 * spread + (i == j ? 1.0 : 0.0);
      shares.to_previous[i][j] = across - spread;
    }
}

struct BlockTridiagonal {
  static constexpr Index carried = 1;
  // The block right of the diagonal, by rows.
  static constexpr std::size_t uppers = std::size_t{components} * components;
  static constexpr bool room = true;
  using SystemRow = Row<uppers>;

  using Terms = std::array<Shares, pairs>;

  static void find(const Block& block, const Bundle& bundle, std::size_t dimension, Index position,
                   Terms& terms) {
    const auto load = [&](const Values& values) { return bundle.load(values, position); };
    const Lanes inverse = load(block.inverse_density), kinetic = load(block.kinetic);
    const Lanes u = load(block.velocity[0]), v = load(block.velocity[1]), w = load(block.velocity[2]);
    const Lanes total = load(block.solution[energy]);
    for (std::size_t q = 0; q < pairs; ++q)
      find_shares({inverse.pair[q],
                   {u.pair[q], v.pair[q], w.pair[q]},
                   kinetic.pair[q],
                   total.pair[q] * inverse.pair[q]},
                  block.grid, dimension, terms[q]);
  }

  static void eliminate(const Terms& before, const Terms& here, const Terms& after, int /*position*/,
                        const Grid& /*grid*/, SystemRow* row) {
    for (std::size_t q = 0; q < pairs; ++q)
      eliminate_row(before[q].to_next, here[q].own, after[q].to_previous, q, row);
  }

  static void substitute(const Lines& lines, SystemRow* rows) {
    for (SystemRow* row = rows + lines.length - 1; row >= rows; --row)
      for (std::size_t q = 0; q < pairs; ++q)
        for (std::size_t i = 0; i < components; ++i)
          for (std::size_t j = 0; j < components; ++j)
            row[0].right[i].pair[q] -= row[0].upper[i * components + j].pair[q] * row[1].right[j].pair[q];
  }

  static void turn(std::size_t /*dimension*/, Lanes (&)[components]) {}

 private:
  static void get(const SystemRow& row, std::size_t q, Matrix<Pair>& upper, Vector<Pair>& right) {
    for (std::size_t i = 0; i < components; ++i) {
      for (std::size_t j = 0; j < components; ++j) upper[i][j] = row.upper[i * components + j].pair[q];
      right[i] = row.right[i].pair[q];
    }
  }

  static void put(const Matrix<Pair>& upper, const Vector<Pair>& right, std::size_t q, SystemRow& row) {
    for (std::size_t i = 0; i < components; ++i) {
      for (std::size_t j = 0; j < components; ++j) row.upper[i * components + j].pair[q] = upper[i][j];
      row.right[i].pair[q] = right[i];
    }
  }

  // Eliminates a row with the previous row, which has been eliminated.
  static void eliminate_row(const Matrix<Pair>& left, Matrix<Pair> diagonal, Matrix<Pair> upper,
                            std::size_t q, SystemRow* row) {
    Matrix<Pair> upper_before;
    Vector<Pair> right_before, right;
    get(row[-1], q, upper_before, right_before);
    for (std::size_t i = 0; i < components; ++i) right[i] = row->right[i].pair[q];
    subtract_product(left, right_before, right);
    subtract_product(left, upper_before, diagonal);
    solve(diagonal, upper, right);
    put(upper, right, q, *row);
  }
};

}  // namespace crosscut::npb::bt
