// Integral of the pressure over the faces of a box inside the cube (NPB 3.4, LU: pintgr, exchange_4 to 6).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/lu/flow.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

// The pressure on a face of the box: at this rank's points along two dimensions, a and b, and at the next
// points, which belong to neighbours.
class Sheet {
 public:
  Sheet(Index a, Index b) : pitch_(a + 1), values_(static_cast<std::size_t>((a + 1) * (b + 1)), 0.0) {}
  double& at(Index a, Index b) { return values_[static_cast<std::size_t>(b * pitch_ + a)]; }

  // Sums the values at the four corners of all squares whose first corner is in these ranges.
  double sum_of_corners(Range a, Range b) {
    double sum = 0;
    for (Index m = b.begin; m < b.end; ++m)
      for (Index n = a.begin; n < a.end; ++n)
        sum += at(n, m) + at(n + 1, m) + at(n, m + 1) + at(n + 1, m + 1);
    return sum;
  }

 private:
  Index pitch_;
  std::vector<double> values_;
};

class SurfaceIntegral {
 public:
  SurfaceIntegral(Communicator& world, const Subdomain& domain, const Field& u)
      : world_(world),
        domain_(domain),
        u_(u),
        box_{{{1, domain.side() - 2}, {1, domain.side() - 3}, {2, domain.side() - 2}}} {}

  double find() {
    const double corners = faces_across_z() + faces_across(y) + faces_across(x);
    const double length = 1.0 / (domain_.side() - 1);
    return 0.25 * length * length * corners;
  }

 private:
  static constexpr std::size_t x = 0, y = 1, z = 2;
  static constexpr int surface_tag = 100;

  // Returns the sum over both faces across z, whose messages are sent together.
  double faces_across_z() {
    const Index points_x = domain_.x().points, points_y = domain_.y().points;
    std::array sheets{Sheet(points_x, points_y), Sheet(points_x, points_y)};
    for (const std::size_t face : {before, after})
      for (Index b = 0; b < points_y; ++b)
        for (Index a = 0; a < points_x; ++a) sheets[face].at(a, b) = pressure_at(a, b, box_[z][face]);

    std::vector<double> first;
    for (Sheet& sheet : sheets)
      for (Index a = 0; a < points_x; ++a) first.push_back(sheet.at(a, 0));
    auto next = pass_to_before(y, first).begin();
    for (Sheet& sheet : sheets)
      for (Index a = 0; a < points_x; ++a) sheet.at(a, points_y) = *next++;

    // Includes values received along y, to pass corners along; as in NPB, leaves room before the first.
    first.clear();
    for (Sheet& sheet : sheets)
      for (Index b = -1; b <= points_y; ++b) first.push_back(b < 0 ? 0 : sheet.at(0, b));
    next = pass_to_before(x, first).begin();
    for (Sheet& sheet : sheets) {
      ++next;
      for (Index b = 0; b <= points_y; ++b) sheet.at(points_x, b) = *next++;
    }
    double sum = 0;
    for (Sheet& sheet : sheets) sum += sheet.sum_of_corners(squares(x), squares(y));
    return world_.sum(sum);
  }

  // Returns the sum over both faces across `dimension`, x or y: along the other one and z.
  double faces_across(std::size_t dimension) {
    const std::size_t along = 1 - dimension;
    const Share& across = domain_.along(dimension);
    const Index points = domain_.along(along).points, points_z = domain_.z().points;
    double sum = 0;
    for (const Index face : box_[dimension]) {
      const Index here = face - across.offset;
      if (here < 0 || here >= across.points) continue;
      Sheet sheet(points, points_z);
      for (Index b = 0; b < points_z; ++b)
        for (Index a = 0; a < points; ++a)
          sheet.at(a, b) = dimension == x ? pressure_at(here, a, b) : pressure_at(a, here, b);
      std::vector<double> first;
      for (Index b = 0; b < points_z; ++b) first.push_back(sheet.at(0, b));
      auto next = pass_to_before(along, first).begin();
      for (Index b = 0; b < points_z; ++b) sheet.at(points, b) = *next++;
      sum += sheet.sum_of_corners(squares(along), squares(z));
    }
    return world_.sum(sum);
  }

  double pressure_at(Index at_x, Index at_y, Index at_z) const {
    const State values = u_.at(at_x, at_y, at_z);
    return pressure(point_of(values), values[density]);
  }

  // Returns the first corners, among this rank's points, of squares inside the box.
  Range squares(std::size_t dimension) const {
    const Share& own = domain_.along(dimension);
    const auto [first, last] = box_[dimension];
    return {std::max<Index>(0, first - own.offset), std::min(own.points, last - own.offset)};
  }

  // Sends the values of this rank's first points to the neighbour before. Returns as many from the neighbour
  // after; zeros if there is none, since no square there is inside the box.
  const std::vector<double>& pass_to_before(std::size_t dimension, const std::vector<double>& first) {
    const Share& own = domain_.along(dimension);
    next_.assign(first.size(), 0);
    world_.shift(first, own.neighbour[before], next_, own.neighbour[after], surface_tag);
    return next_;
  }

  Communicator& world_;
  const Subdomain& domain_;
  const Field& u_;
  std::array<std::array<Index, 2>, dimensions> box_;  // the box's first and last point along each
  std::vector<double> next_;
};

}  // namespace crosscut::npb::lu
