// The systems of BT (RNR-94-007, section 3): along a line one with three diagonals of 5 x 5 blocks.
#pragma once

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/lines.hpp"
#include "npb/multipartition/sweep.hpp"

namespace crosscut::npb::bt {

using namespace multipartition;

// 5 x 5 blocks of two lines at once.

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

struct Points {
  Lanes inverse_density;
  std::array<Lanes, dimensions> velocity;
  Lanes kinetic;
  Lanes total;

  Points(const Block& block, const Bundle& bundle, Index position)
      : inverse_density(bundle.load(block.inverse_density, position)),
        // NOLINTNEXTLINE(modernize-use-default-member-init): it differs from one to the next
        velocity{bundle.load(block.velocity[0], position), bundle.load(block.velocity[1], position),
                 bundle.load(block.velocity[2], position)},
        kinetic(bundle.load(block.kinetic, position)),
        total(bundle.load(block.solution[energy], position)) {}

  Point<Pair> of(std::size_t q) const {
    return {inverse_density.pair[q],
            {velocity[0].pair[q], velocity[1].pair[q], velocity[2].pair[q]},
            kinetic.pair[q],
            total.pair[q] * inverse_density.pair[q]};
  }
};

// What a point of the line contributes to the equations around it.
struct Shares {
  Matrix<Pair> to_next;      // left of the diagonal, in the row of the point after it
  Matrix<Pair> own;          // on the diagonal
  Matrix<Pair> to_previous;  // right of it, in the row of the point before
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

  static void eliminate(const Block& block, const Bundle& bundle, const Lines& lines, SystemRow* rows) {
    const std::size_t dimension = lines.dimension();
    Shares shares[3][pairs];  // of the point before, this one, and the one after: by position modulo 3
    const auto find = [&](Index p) {
      const Points points(block, bundle, p);
      for (std::size_t q = 0; q < pairs; ++q)
        find_shares(points.of(q), block.grid, dimension, shares[(p + 3) % 3][q]);
    };
    find(-1);
    find(0);
    for (Index p = 0; p < lines.length(); ++p) {
      find(p + 1);
      const int position = block.cell.first[dimension] + static_cast<int>(p);
      if (position == 0 || position == block.grid.points - 1) {
        rows[p] = {};  // nothing changes on the boundary
        continue;
      }
      for (std::size_t m = 0; m < components; ++m) rows[p].right[m] = bundle.load(block.right[m], p);
      for (std::size_t q = 0; q < pairs; ++q)
        eliminate_row(shares[(p + 2) % 3][q].to_next, shares[p % 3][q].own,
                      shares[(p + 1) % 3][q].to_previous, q, rows + p);
    }
  }

  static void substitute(const Lines& lines, SystemRow* rows) {
    for (SystemRow* row = rows + lines.length() - 1; row >= rows; --row)
      for (std::size_t q = 0; q < pairs; ++q)
        for (std::size_t i = 0; i < components; ++i)
          for (std::size_t j = 0; j < components; ++j)
            row[0].right[i].pair[q] -= row[0].upper[i * components + j].pair[q] * row[1].right[j].pair[q];
  }

  static void store(Block& block, const Bundle& bundle, const Lines& lines, SystemRow* rows) {
    for (Index p = 0; p < lines.length(); ++p)
      for (std::size_t m = 0; m < components; ++m) bundle.store(rows[p].right[m], block.right[m], p);
  }

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

  // From the row before, which has been eliminated.
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
