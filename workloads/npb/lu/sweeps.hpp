// One iteration of symmetric successive over-relaxation: a lower triangular system of 5 x 5 blocks solved
// from the first corner of the cube to the last, and an upper one back (NPB 3.4, LU: ssor, jacld, blts, jacu,
// buts).
//
// A point depends on its neighbours towards the corner where the sweep began. So a rank waits, plane by plane
// along z, for the edges of the ranks before it along x and y, and then passes its own on: many small
// messages, and ranks on the same diagonal of their grid at work at the same time.
#pragma once

#include <cstddef>

#include "npb/lu/field.hpp"
#include "npb/lu/flow.hpp"
#include "npb/lu/halo.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

class Sweeps {
 public:
  Sweeps(const Subdomain& domain, double time_step);

  // Makes of the right side what u changes by, but for a factor. On faces of the cube `change` must be 0.
  void solve(const Field& u, Halo& halo, Field& change) const;

 private:
  enum class Way { lower, upper };

  // Of points that lie together along x, what does not depend on one another's solution.
  struct Prepared {
    Vector<Lanes> sum;      // what neighbours along y and z contribute
    Matrix<Lanes> along_x;  // by which the neighbour along x does
    Matrix<Lanes> factors;  // of the diagonal's block
  };

  template <Way way>
  Prepared prepare(const double* u, const double* change, const Field& shape) const;
  template <Way way>
  void solve_row(const double* u, double* change, const Field& shape) const;
  template <std::size_t dimension, Way way>
  Matrix<Lanes> off_diagonal(const Point<Lanes>& neighbour) const;
  Matrix<Lanes> diagonal(const Point<Lanes>& own) const;

  const Subdomain& domain_;
  Grid grid_;
};

}  // namespace crosscut::npb::lu
