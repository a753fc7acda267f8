// One iteration of symmetric successive over-relaxation: a lower triangular system of 5 x 5 blocks is solved
// from the cube's first corner to the last, then an upper one back (NPB 3.4, LU: ssor, jacld, blts, jacu,
// buts).
#pragma once

#include <array>
#include <cstddef>

#include "npb/lu/flow.hpp"
#include "npb/lu/halo.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

// At either end of a row, points are loaded that are not solved for.
static_assert(lanes <= Field::layers);

// Returns the components of neighbouring points along x, from `first` on.
inline Vector<Lanes> load_all(const double* first, Index pitch) {
  return {load(first), load(first + pitch), load(first + 2 * pitch), load(first + 3 * pitch),
          load(first + 4 * pitch)};
}

inline Vector<double> lane_of(const Vector<Lanes>& all, Index lane) {
  return {all[0][lane], all[1][lane], all[2][lane], all[3][lane], all[4][lane]};
}

inline Matrix<double> lane_of(const Matrix<Lanes>& all, Index lane) {
  return {lane_of(all[0], lane), lane_of(all[1], lane), lane_of(all[2], lane), lane_of(all[3], lane),
          lane_of(all[4], lane)};
}

class Sweeps {
 public:
  Sweeps(const Subdomain& domain, double time_step) : domain_(domain), grid_{domain.side(), time_step} {}

  // Turns the right-hand side into the change of u, up to a factor. On the cube's faces `change` must be 0.
  void solve(const Field& u, Halo& halo, Field& change) const {
    const Range rows = domain_.y().inner, planes = domain_.z().inner;
    for (Index at_z = planes.begin; at_z < planes.end; ++at_z) {
      halo.receive_plane(change, at_z, before);
      for (Index at_y = rows.begin; at_y < rows.end; ++at_y)
        solve_row<Way::lower>(u.row(at_y, at_z), change.row(at_y, at_z), change);
      halo.send_plane(change, at_z, after);
    }
    for (Index at_z = planes.end; at_z-- > planes.begin;) {
      halo.receive_plane(change, at_z, after);
      for (Index at_y = rows.end; at_y-- > rows.begin;)
        solve_row<Way::upper>(u.row(at_y, at_z), change.row(at_y, at_z), change);
      halo.send_plane(change, at_z, before);
    }
  }

 private:
  static constexpr std::size_t x = 0, y = 1, z = 2;
  enum class Way { lower, upper };

  // For neighbouring points along x: the terms that do not depend on each other's solution.
  struct Prepared {
    Vector<Lanes> sum;      // contribution of neighbours along y and z
    Matrix<Lanes> along_x;  // factor of the neighbour along x
    Matrix<Lanes> factors;  // of the diagonal block
  };

  template <Way way>
  Prepared prepare(const double* u, const double* change, const Field& shape) const {
    constexpr Index towards = way == Way::lower ? -1 : 1;
    const Index pitch = shape.pitch(), to_y = towards * shape.y_step(), to_z = towards * shape.z_step();
    const auto point = [pitch](const double* at) { return point_of(load_all(at, pitch)); };
    const auto from_y = multiply(off_diagonal<y, way>(point(u + to_y)), load_all(change + to_y, pitch));
    const auto from_z = multiply(off_diagonal<z, way>(point(u + to_z)), load_all(change + to_z, pitch));
    Prepared prepared{from_y, off_diagonal<x, way>(point(u + towards)), diagonal(point(u))};
    for (std::size_t m = 0; m < components; ++m) prepared.sum[m] += from_z[m];
    factor(prepared.factors);
    return prepared;
  }

  // flatten: keeps blocks in registers where possible, which makes LU a third faster.
  template <Way way>
  [[gnu::flatten]] void solve_row(const double* u, double* change, const Field& shape) const {
    constexpr bool lower = way == Way::lower;
    const Range inner = domain_.x().inner;
    const Index pitch = shape.pitch();
    Vector<double> found;  // at the previous point
    for (std::size_t m = 0; m < components; ++m)
      found[m] = change[(lower ? inner.begin - 1 : inner.end) + static_cast<Index>(m) * pitch];
    for (Index done = 0; done < inner.size(); done += lanes) {
      const Index first = lower ? inner.begin + done : inner.end - done - lanes;
      const Prepared prepared = prepare<way>(u + first, change + first, shape);
      for (Index n = 0; n < lanes && done + n < inner.size(); ++n) {
        const Index lane = lower ? n : lanes - 1 - n;
        double* own = change + first + lane;
        const Vector<double> from_x = multiply(lane_of(prepared.along_x, lane), found);
        for (std::size_t m = 0; m < components; ++m) {
          const double sum = relaxation * (prepared.sum[m][lane] + from_x[m]);
          found[m] = lower ? grid_.time_step * own[static_cast<Index>(m) * pitch] - sum : sum;
        }
        lu::solve(lane_of(prepared.factors, lane), found);
        for (std::size_t m = 0; m < components; ++m) {
          double& value = own[static_cast<Index>(m) * pitch];
          value = found[m] = lower ? found[m] : value - found[m];
        }
      }
    }
  }

  template <std::size_t dimension, Way way>
  Matrix<Lanes> off_diagonal(const Point<Lanes>& neighbour) const {
    const double carried = (way == Way::lower ? -1 : 1) * grid_.time_step * grid_.first_weight();
    const double diffused = -grid_.time_step * grid_.second_weight();
    Matrix<Lanes> block = flux_jacobian(neighbour, dimension);
    for (auto& row : block)
      for (auto& value : row) value *= carried;
    for (std::size_t m = 0; m < components; ++m) block[m][m] += diffused * diffusion[dimension];
    add_diffusion_jacobian(block, neighbour, viscosities(dimension), heat_diffusion, diffused);
    return block;
  }

  Matrix<Lanes> diagonal(const Point<Lanes>& own) const {
    // All three dimensions at once, with two neighbours along each.
    constexpr double viscous = viscosity * (stretching + 2);
    constexpr double diffusion_sum = diffusion[x] + diffusion[y] + diffusion[z];
    const double factor = 2 * grid_.time_step * grid_.second_weight();
    Matrix<Lanes> block{};
    for (std::size_t m = 0; m < components; ++m) block[m][m] += 1 + factor * diffusion_sum;
    add_diffusion_jacobian(block, own, {viscous, viscous, viscous}, 3 * heat_diffusion, factor);
    return block;
  }

  const Subdomain& domain_;
  Grid grid_;
};

}  // namespace crosscut::npb::lu
