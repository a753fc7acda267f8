#include "npb/lu/solution.hpp"

#include <array>
#include <cstddef>

namespace crosscut::npb::lu {

namespace {

// Of 1; x, y, z; their squares; cubes; fourth powers (RNR-94-007, section 3; NPB 3.4, LU: setcoeff).
constexpr std::array<std::array<double, 13>, components> polynomials{{
    {2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
}};

// Of the two faces across one dimension, at their points beside ours, the one as far away as the other is
// near.
Values between(const Values& low, const Values& high, double part) {
  Values result;
  for (std::size_t m = 0; m < components; ++m) result[m] = (1 - part) * low[m] + part * high[m];
  return result;
}

Values blend(double x, double y, double z) {
  const Values along_x = between(exact(0, y, z), exact(1, y, z), x);
  const Values along_y = between(exact(x, 0, z), exact(x, 1, z), y);
  const Values along_z = between(exact(x, y, 0), exact(x, y, 1), z);
  Values result;
  for (std::size_t m = 0; m < components; ++m) {
    const double a = along_x[m], b = along_y[m], c = along_z[m];
    result[m] = a + b + c - a * b - b * c - c * a + a * b * c;
  }
  return result;
}

double coordinate(Index point, int side) { return static_cast<double>(point) / (side - 1); }

template <typename Value>
void set(const Subdomain& domain, Field& field, Value&& value) {
  for (Index z = 0; z < domain.z().points; ++z)
    for (Index y = 0; y < domain.y().points; ++y)
      for (Index x = 0; x < domain.x().points; ++x)
        field.set(x, y, z, value(domain.x().offset + x, domain.y().offset + y, z));
}

}  // namespace

Values exact(double x, double y, double z) {
  const std::array<double, 3> at{x, y, z};
  Values result;
  for (std::size_t m = 0; m < components; ++m) {
    const auto& c = polynomials[m];
    result[m] = c[0];
    for (std::size_t d = 0; d < at.size(); ++d)
      result[m] += at[d] * (c[1 + d] + at[d] * (c[4 + d] + at[d] * (c[7 + d] + at[d] * c[10 + d])));
  }
  return result;
}

Values exact_at(Index x, Index y, Index z, int side) {
  return exact(coordinate(x, side), coordinate(y, side), coordinate(z, side));
}

void set_exact(const Subdomain& domain, Field& field) {
  set(domain, field, [&](Index x, Index y, Index z) { return exact_at(x, y, z, domain.side()); });
}

void set_initial(const Subdomain& domain, Field& field) {
  const Index last = domain.side() - 1;
  const auto on_face = [last](Index point) { return point == 0 || point == last; };
  set(domain, field, [&](Index x, Index y, Index z) {
    if (on_face(x) || on_face(y) || on_face(z)) return exact_at(x, y, z, domain.side());
    return blend(coordinate(x, domain.side()), coordinate(y, domain.side()), coordinate(z, domain.side()));
  });
}

}  // namespace crosscut::npb::lu
