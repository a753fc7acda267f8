#include "npb/lu/sums.hpp"

#include <cmath>
#include <span>

#include "npb/lu/solution.hpp"

namespace crosscut::npb::lu {

namespace {

template <typename Value>
Values root_of_mean_square(Communicator& world, const Subdomain& domain, Value&& value) {
  Values squares{}, sums{};
  for (Index z = domain.z().inner.begin; z < domain.z().inner.end; ++z)
    for (Index y = domain.y().inner.begin; y < domain.y().inner.end; ++y)
      for (Index x = domain.x().inner.begin; x < domain.x().inner.end; ++x) {
        const Values values = value(x, y, z);
        for (std::size_t m = 0; m < components; ++m) squares[m] += values[m] * values[m];
      }
  world.all_reduce(squares, sums, MPI_SUM);
  const double inside = std::pow(domain.side() - 2, 3);
  for (double& sum : sums) sum = std::sqrt(sum / inside);
  return sums;
}

}  // namespace

Values norm(Communicator& world, const Subdomain& domain, const Field& field) {
  return root_of_mean_square(world, domain, [&](Index x, Index y, Index z) { return field.at(x, y, z); });
}

Values error(Communicator& world, const Subdomain& domain, const Field& u) {
  return root_of_mean_square(world, domain, [&](Index x, Index y, Index z) {
    Values away = exact_at(domain.x().offset + x, domain.y().offset + y, z, domain.side());
    const Values found = u.at(x, y, z);
    for (std::size_t m = 0; m < components; ++m) away[m] -= found[m];
    return away;
  });
}

}  // namespace crosscut::npb::lu
