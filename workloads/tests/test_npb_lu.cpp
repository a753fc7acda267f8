#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "npb/common/random.hpp"
#include "npb/lu/flow.hpp"
#include "npb/lu/subdomain.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::npb::lu;

namespace {

constexpr State moving{1.3, 0.4, -0.7, 0.9, 5.1};

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * (1 + std::abs(b)); }

// Returns the Jacobian of `function` column by column, by central differences.
template <typename Function>
Matrix<double> differentiated(const State& u, Function&& function) {
  constexpr double step = 1e-6;
  Matrix<double> block;
  for (std::size_t n = 0; n < components; ++n) {
    State less = u, more = u;
    less[n] -= step;
    more[n] += step;
    const auto low = function(less), high = function(more);
    for (std::size_t m = 0; m < components; ++m) block[m][n] = (high[m] - low[m]) / (2 * step);
  }
  return block;
}

template <std::size_t d>
void check_flux_jacobian() {
  const auto expected = differentiated(moving, [](const State& u) { return flux<d>(u, point_of(u)); });
  const auto found = flux_jacobian(point_of(moving), d);
  for (std::size_t m = 0; m < components; ++m)
    for (std::size_t n = 0; n < components; ++n) CHECK(near(found[m][n], expected[m][n], 1e-8));
}

template <std::size_t d>
void check_diffusion_jacobian() {
  const auto expected = differentiated(moving, [](const State& u) {
    const auto w = diffused<d>(point_of(u));
    return State{0, w[0], w[1], w[2], w[3]};
  });
  Matrix<double> found{};
  add_diffusion_jacobian(found, point_of(moving), viscosities(d), heat_diffusion, 1);
  for (std::size_t m = 0; m < components; ++m)
    for (std::size_t n = 0; n < components; ++n) CHECK(near(found[m][n], expected[m][n], 1e-8));
}

template <typename T>
Matrix<T> dominant_block(std::uint64_t seed) {
  RandomStream random(seed);
  Matrix<T> block;
  for (std::size_t m = 0; m < components; ++m)
    for (std::size_t n = 0; n < components; ++n) block[m][n] = T{} + random.next() + (m == n ? 6.0 : 0.0);
  return block;
}

}  // namespace

TEST(jacobians_of_the_flux_are_its_derivatives) {
  check_flux_jacobian<0>();
  check_flux_jacobian<1>();
  check_flux_jacobian<2>();
}

TEST(jacobians_of_what_diffuses_are_its_derivatives) {
  check_diffusion_jacobian<0>();
  check_diffusion_jacobian<1>();
  check_diffusion_jacobian<2>();
}

TEST(what_a_block_makes_of_a_vector_is_solved_back_to_it) {
  const auto block = dominant_block<double>(271828183);
  auto factors = block;
  factor(factors);
  auto vector = multiply(block, moving);
  solve(factors, vector);
  for (std::size_t m = 0; m < components; ++m) CHECK(near(vector[m], moving[m], 1e-14));
}

TEST(points_computed_together_get_what_each_would_get_alone) {
  const auto factors = [](auto block) {
    factor(block);
    return block;
  };
  const auto alone = factors(dominant_block<double>(314159265));
  const auto together = factors(dominant_block<Lanes>(314159265));
  for (std::size_t m = 0; m < components; ++m)
    for (std::size_t n = 0; n < components; ++n)
      for (std::ptrdiff_t lane = 0; lane < lanes; ++lane) CHECK_EQ(together[m][n][lane], alone[m][n]);
}

TEST(ranks_make_the_grids_of_npb) {
  using Grid = std::array<int, 2>;
  CHECK(rank_grid(1) == Grid({1, 1}));
  CHECK(rank_grid(2) == Grid({2, 1}));
  CHECK(rank_grid(8) == Grid({4, 2}));
  CHECK(rank_grid(16) == Grid({4, 4}));
  CHECK(rank_grid(12) == Grid({4, 3}));
  CHECK(rank_grid(15) == Grid({5, 3}));
  CHECK(rank_grid(32768) == Grid({256, 128}));
  for (const int ranks : {3, 5, 7, 10, 14, 65537}) CHECK(!rank_grid(ranks));
}

TEST(ranks_have_each_point_once_and_neighbours_name_each_other) {
  constexpr int side = 33;
  for (const int ranks : {1, 2, 6, 8, 16}) {
    const auto grid = rank_grid(ranks).value();
    std::vector<Subdomain> all;
    for (int rank = 0; rank < ranks; ++rank) all.emplace_back(side, grid, rank);
    Index points = 0, inner = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Subdomain& own = all[static_cast<std::size_t>(rank)];
      points += own.x().points * own.y().points;
      inner += own.x().inner.size() * own.y().inner.size();
      for (const std::size_t d : shared_dimensions) {
        const auto next = own.along(d).neighbour[after];
        CHECK_EQ(next.has_value(), own.along(d).offset + own.along(d).points < side);
        if (!next) continue;
        const Share& other = all[static_cast<std::size_t>(*next)].along(d);
        CHECK(other.neighbour[before] == rank);
        CHECK_EQ(other.offset, own.along(d).offset + own.along(d).points);
      }
    }
    CHECK_EQ(points, side * side);
    CHECK_EQ(inner, (side - 2) * (side - 2));
  }
}

TEST(at_the_start_the_exact_solution_is_on_the_faces_alone) {
  for (int z = 0; z < 12; ++z)
    for (int y = 0; y < 12; ++y)
      for (int x = 0; x < 12; ++x) {
        const bool on_face = std::min({x, y, z}) == 0 || std::max({x, y, z}) == 11;
        const double a = x / 11.0, b = y / 11.0, c = z / 11.0;
        CHECK_EQ(initial_state(a, b, c) == exact_solution(a, b, c), on_face);
      }
}

// NPB's exact solution is a polynomial, so at (1, 1, 1) it is the sum of its coefficients.
TEST(the_exact_solution_at_the_last_corner_is_the_sum_of_its_coefficients) {
  const State corner = exact_solution(1, 1, 1);
  const State sums{15.76, 8.26, 10.32, 9.72, 15.52};
  for (std::size_t m = 0; m < components; ++m) CHECK(near(corner[m], sums[m], 1e-15));
}
