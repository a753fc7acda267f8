#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "npb/common/random.hpp"
#include "npb/multipartition/right_side.hpp"
#include "npb/sp/pentadiagonal.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::npb::multipartition;
using namespace crosscut::npb::sp;

namespace {

constexpr Grid grid{12, 0.01};

// Returns a block of the whole grid with the exact solution and a random right-hand side.
Block some_block() {
  Block block(Partition(grid.points, 0, 1).cells()[0], grid);
  RandomStream random(314159265);
  for (Index k = -2; k < grid.points + 2; ++k)
    for (Index j = -2; j < grid.points + 2; ++j)
      for (Index i = -2; i < grid.points + 2; ++i) {
        const State state =
            exact_solution(block.coordinate(0, i), block.coordinate(1, j), block.coordinate(2, k));
        for (std::size_t m = 0; m < components; ++m)
          block.solution[m][static_cast<std::size_t>(block.shape.at(i, j, k))] = state[m];
      }
  block.for_each_inner_row([&](Index j, Index k) {
    for (Index i = 1; i < grid.points - 1; ++i)
      for (Values& component : block.right)
        component[static_cast<std::size_t>(block.shape.at(i, j, k))] = random.next() - 0.5;
  });
  find_derived(block);
  find_sound(block);
  return block;
}

// Returns the element at (row, column) of a system's matrix, as in the report.
double matrix(const Block& block, const Bundle& bundle, std::size_t lane, std::size_t dimension, double sign,
              int row, int column) {
  const auto at = [&](const Values& values) { return bundle.load(values, column).get(lane); };
  if (row == 0 || row == grid.points - 1) return row == column ? 1 : 0;
  const int offset = column - row;
  if (std::abs(offset) > 2) return 0;
  const double speed = at(block.velocity[dimension]) + sign * at(block.sound);
  const double spread = diffusion[dimension] + conductivity * viscosity * at(block.inverse_density);
  double value = dissipation * fourth_difference(row, grid.points)[static_cast<std::size_t>(offset + 2)];
  if (std::abs(offset) == 1) value += offset * grid.first_weight() * speed - grid.second_weight() * spread;
  if (offset == 0) value += 2 * grid.second_weight() * spread;
  return grid.time_step * value + (offset == 0 ? 1 : 0);
}

}  // namespace

TEST(through_the_variables_of_all_dimensions_and_back_nothing_changes) {
  Block block = some_block();
  const auto before = block.right;
  to_characteristic_of_x(block);
  CHECK(block.right != before);
  const Lines lines(block, 0);
  for (const Bundle& bundle : lines.bundles)
    for (Index p = 1; p + 1 < lines.length; ++p) {
      Lanes right[components];
      for (std::size_t m = 0; m < components; ++m) right[m] = bundle.load(block.right[m], p);
      turn_to_next(0, right);
      turn_to_next(1, right);
      for (std::size_t m = 0; m < components; ++m) bundle.store(right[m], block.right[m], p);
    }
  from_characteristic_of_z(block);
  for (std::size_t m = 0; m < components; ++m)
    for (std::size_t at = 0; at < before[m].size(); ++at)
      CHECK(std::abs(block.right[m][at] - before[m][at]) < 1e-12);
}

TEST(what_is_solved_satisfies_the_equations_along_each_dimension) {
  const Block block = some_block();
  constexpr std::array<double, components> sign{0, 0, 0, 1, -1};
  for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
    const Lines lines(block, dimension);
    CHECK_EQ(lines.count, std::size_t{100});
    CHECK_EQ(lines.bundles.back().lines, std::size_t{4});
    for (const Bundle& bundle : lines.bundles) {
      std::vector<Pentadiagonal::SystemRow> rows(static_cast<std::size_t>(lines.length) + 4);
      eliminate<Pentadiagonal>(block, bundle, lines, rows.data() + 2);
      Pentadiagonal::substitute(lines, rows.data() + 2);
      for (std::size_t lane = 0; lane < width; ++lane)
        for (std::size_t m = 0; m < components; ++m)
          for (int row = 0; row < grid.points; ++row) {
            double product = 0;
            for (int column = 0; column < grid.points; ++column)
              product += matrix(block, bundle, lane, dimension, sign[m], row, column) *
                         rows[static_cast<std::size_t>(column) + 2].right[m].get(lane);
            CHECK(std::abs(product - bundle.load(block.right[m], row).get(lane)) < 1e-12);
          }
    }
  }
}
