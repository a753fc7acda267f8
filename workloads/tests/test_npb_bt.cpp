#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "npb/bt/block_tridiagonal.hpp"
#include "npb/common/random.hpp"
#include "npb/multipartition/right_side.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::npb::bt;
using namespace crosscut::npb::multipartition;

namespace {

Matrix<Pair> random_matrix(RandomStream& random, double diagonal) {
  Matrix<Pair> matrix;
  for (std::size_t i = 0; i < components; ++i)
    for (std::size_t j = 0; j < components; ++j)
      matrix[i][j] = Pair{random.next(), random.next()} + (i == j ? diagonal : 0.0);
  return matrix;
}

bool is_zero(Pair pair) { return std::abs(pair[0]) < 1e-12 && std::abs(pair[1]) < 1e-12; }

}  // namespace

TEST(blocks_are_solved) {
  RandomStream random(271828183);
  const Matrix<Pair> a = random_matrix(random, 4), block = random_matrix(random, 0);
  Matrix<Pair> used = a, solved = block;
  Vector<Pair> right, solved_right;
  for (std::size_t i = 0; i < components; ++i) right[i] = Pair{random.next(), random.next()};
  solved_right = right;
  solve(used, solved, solved_right);
  Matrix<Pair> difference = block;
  subtract_product(a, solved, difference);
  Vector<Pair> right_difference = right;
  subtract_product(a, solved_right, right_difference);
  for (std::size_t i = 0; i < components; ++i) {
    CHECK(is_zero(right_difference[i]));
    for (std::size_t j = 0; j < components; ++j) CHECK(is_zero(difference[i][j]));
  }
}

namespace {

constexpr Grid grid{12, 0.01};

Block some_block() {
  Block block(Partition(grid.points, 0, 1).cells()[0], grid);
  RandomStream random(314159265);
  for (Index k = 0; k < grid.points; ++k)
    for (Index j = 0; j < grid.points; ++j)
      for (Index i = 0; i < grid.points; ++i) {
        const auto at = static_cast<std::size_t>(block.shape.at(i, j, k));
        const State state =
            exact_solution(block.coordinate(0, i), block.coordinate(1, j), block.coordinate(2, k));
        for (std::size_t m = 0; m < components; ++m) {
          block.solution[m][at] = state[m];
          block.right[m][at] = random.next() - 0.5;
        }
      }
  find_derived(block);
  return block;
}

// Adds `sign` times the flux's Jacobian and the viscous one, times the solution there.
void add_share(const Block& block, const Bundle& bundle, Index p, std::size_t dimension, double across,
               double spread, const BlockTridiagonal::SystemRow& solved, Pair (&sum)[components]) {
  const auto at = [&](const Values& values) { return bundle.load(values, p).pair[0]; };
  const Point<Pair> point{at(block.inverse_density),
                          {at(block.velocity[0]), at(block.velocity[1]), at(block.velocity[2])},
                          at(block.kinetic),
                          at(block.solution[energy]) * at(block.inverse_density)};
  const Matrix<Pair> flux_part = flux_jacobian(point, dimension);
  Matrix<Pair> viscous_part{};
  add_diffusion_jacobian(viscous_part, point, viscosities(dimension), conductivity * viscosity, 1);
  for (std::size_t i = 0; i < components; ++i) {
    viscous_part[i][i] += diffusion[dimension];
    for (std::size_t j = 0; j < components; ++j)
      sum[i] += grid.time_step *
                (across * grid.first_weight() * flux_part[i][j] +
                 spread * grid.second_weight() * viscous_part[i][j]) *
                solved.right[j].pair[0];
  }
}

}  // namespace

TEST(what_is_solved_satisfies_the_equations_of_blocks_along_each_dimension) {
  const Block block = some_block();
  for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
    const Lines lines(block, dimension);
    const Bundle& bundle = lines.bundles[5];
    std::vector<BlockTridiagonal::SystemRow> rows(static_cast<std::size_t>(lines.length) + 2);
    BlockTridiagonal::SystemRow* row = rows.data() + 1;
    eliminate<BlockTridiagonal>(block, bundle, lines, row);
    BlockTridiagonal::substitute(lines, row);
    for (std::size_t m = 0; m < components; ++m) CHECK(is_zero(row[0].right[m].pair[0]));
    for (Index p = 1; p + 1 < lines.length; ++p) {
      Pair sum[components];
      for (std::size_t m = 0; m < components; ++m)
        sum[m] = row[p].right[m].pair[0] - bundle.load(block.right[m], p).pair[0];
      add_share(block, bundle, p - 1, dimension, -1, -1, row[p - 1], sum);
      add_share(block, bundle, p, dimension, 0, 2, row[p], sum);
      add_share(block, bundle, p + 1, dimension, 1, -1, row[p + 1], sum);
      for (const Pair& difference : sum) CHECK(is_zero(difference));
    }
  }
}
