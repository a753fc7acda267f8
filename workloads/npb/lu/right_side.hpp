// The right-hand side: the change of u by the flow's equations, from its differences along x, y and z (NPB
// 3.4, LU: rhs, erhs).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "npb/lu/flow.hpp"
#include "npb/lu/halo.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

using Weights = std::array<double, 5>;  // of fourth differences

// Rows at x = 0: a row, and those before and after it along some dimension.
struct Surroundings {
  std::array<const double*, 5> u;
  std::array<const double*, 3> flux;
  std::array<const double*, 3> diffused;
};

// Adds one dimension's terms to all components of points `x`.
inline void add_differences(const Surroundings& around, Index pitch, Range x, const Weights& weights,
                            const Grid& grid, double diffusion_factor, double* to) {
  const double first = grid.first_weight(), second = grid.second_weight(), d = diffusion_factor;
  const Weights w = weights;
  for (Index m = 0; m < components; ++m) {
    const Index at = m * pitch;
    const double* __restrict u0 = around.u[0] + at;
    const double* __restrict u1 = around.u[1] + at;
    const double* __restrict u2 = around.u[2] + at;
    const double* __restrict u3 = around.u[3] + at;
    const double* __restrict u4 = around.u[4] + at;
    const double* __restrict flux_before = around.flux[0] + at;
    const double* __restrict flux_after = around.flux[2] + at;
    const double* __restrict w0 = around.diffused[0] + at;
    const double* __restrict w1 = around.diffused[1] + at;
    const double* __restrict w2 = around.diffused[2] + at;
    double* __restrict out = to + at;
    for (Index i = x.begin; i < x.end; ++i)
      out[i] += second * (d * (u1[i] - 2 * u2[i] + u3[i]) + (w0[i] - 2 * w1[i] + w2[i])) -
                first * (flux_after[i] - flux_before[i]) -
                dissipation * (w[0] * u0[i] + w[1] * u1[i] + w[2] * u2[i] + w[3] * u3[i] + w[4] * u4[i]);
  }
}

class RightSide {
 public:
  explicit RightSide(const Subdomain& domain)
      : domain_(domain),
        grid_{.points = domain.side()},
        pitch_(domain.field(0).pitch()),
        fluxes_{Fluxes(pitch_), Fluxes(pitch_), Fluxes(pitch_)} {}

  // Adds the right-hand side to `change`, at points inside the cube. Fills the layers of `u` from neighbours,
  // first along x, then along y.
  void add(Field& u, Halo& halo, Field& change) {
    const Range y_inner = domain_.y().inner, z_inner = domain_.z().inner;
    halo.exchange(u, 0);
    for (Index z = z_inner.begin; z < z_inner.end; ++z)
      for (Index y = y_inner.begin; y < y_inner.end; ++y) add_along_x(u.row(y, z), change.row(y, z));
    halo.exchange(u, 1);
    const Range with_layers{-Field::layers, domain_.y().points + Field::layers};
    for (Index z = z_inner.begin; z < z_inner.end; ++z)
      add_across_rows<1>(u.row(0, z), u.y_step(), with_layers, change.row(0, z));
    for (Index y = y_inner.begin; y < y_inner.end; ++y)
      add_across_rows<2>(u.row(y, 0), u.z_step(), {0, domain_.z().points}, change.row(y, 0));
  }

 private:
  // The flux F and the diffusing amount W (flow.hpp) at the points of a row, by component as in a Field.
  class Fluxes {
   public:
    explicit Fluxes(Index pitch)
        : flux_(static_cast<std::size_t>(components * pitch)), diffused_(flux_.size()) {}
    // Also computes at points of layers, even those that no neighbour fills; they are not used.
    template <std::size_t dimension>
    void find(const double* row, Index pitch) {
      for (Index x = 0; x < pitch; x += lanes) {
        Vector<Lanes> u;
        for (std::size_t m = 0; m < components; ++m)
          u[m] = load(row - Field::layers + static_cast<Index>(m) * pitch + x);
        const Point point = point_of(u);
        const auto flux = lu::flux<dimension>(u, point);
        const auto diffused = lu::diffused<dimension>(point);
        for (std::size_t m = 0; m < components; ++m) {
          store(flux[m], flux_.data() + static_cast<Index>(m) * pitch + x);
          if (m > 0) store(diffused[m - 1], diffused_.data() + static_cast<Index>(m) * pitch + x);
        }
      }
    }

    const double* flux() const { return flux_.data() + Field::layers; }
    const double* diffused() const { return diffused_.data() + Field::layers; }

   private:
    std::vector<double> flux_;
    std::vector<double> diffused_;  // 0 for density
  };

  // Returns the weights of the fourth difference at this rank's point `at`.
  std::array<double, 5> weights_at(const Share& own, Index at) const {
    return fourth_difference(static_cast<int>(own.offset + at), grid_.points);
  }

  void add_along_x(const double* row, double* out) {
    Fluxes& fluxes = fluxes_[0];
    fluxes.find<0>(row, pitch_);
    const double *flux = fluxes.flux(), *diffused = fluxes.diffused();
    const Surroundings around{{row - 2, row - 1, row, row + 1, row + 2},
                              {flux - 1, flux, flux + 1},
                              {diffused - 1, diffused, diffused + 1}};
    const Range inner = domain_.x().inner;
    const auto weights = [&](Index x) { return weights_at(domain_.x(), x); };
    for (Range part{inner.begin, 0}; part.begin < inner.end; part.begin = part.end) {
      part.end = part.begin + 1;
      while (part.end < inner.end && weights(part.end) == weights(part.begin)) ++part.end;
      add_differences(around, pitch_, part, weights(part.begin), grid_, diffusion[0], out);
    }
  }

  // Goes across `rows`, which lie `step` numbers apart; `first` is row 0.
  template <std::size_t dimension>
  void add_across_rows(const double* first, Index step, Range rows, double* out) {
    const Share& own = domain_.along(dimension);
    // A row that does not exist has weight 0.
    const auto row = [&](Index n) { return first + std::clamp(n, rows.begin, rows.end - 1) * step; };
    const auto fluxes = [&](Index n) -> Fluxes& { return fluxes_[static_cast<std::size_t>(n + 3) % 3]; };
    for (const Index n : {own.inner.begin - 1, own.inner.begin})
      fluxes(n).template find<dimension>(row(n), pitch_);
    for (Index n = own.inner.begin; n < own.inner.end; ++n) {
      fluxes(n + 1).template find<dimension>(row(n + 1), pitch_);
      const Fluxes &before = fluxes(n - 1), &at = fluxes(n), &after = fluxes(n + 1);
      const Surroundings around{{row(n - 2), row(n - 1), row(n), row(n + 1), row(n + 2)},
                                {before.flux(), at.flux(), after.flux()},
                                {before.diffused(), at.diffused(), after.diffused()}};
      add_differences(around, pitch_, domain_.x().inner, weights_at(own, n), grid_, diffusion[dimension],
                      out + n * step);
    }
  }

  const Subdomain& domain_;
  Grid grid_;
  Index pitch_;
  std::array<Fluxes, 3> fluxes_;  // of a row and those before and after it
};

}  // namespace crosscut::npb::lu
