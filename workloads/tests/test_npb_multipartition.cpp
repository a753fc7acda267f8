#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/partition.hpp"
#include "npb/multipartition/right_side.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::npb::multipartition;

namespace {

constexpr int most_cells = 5;

struct Owned {
  int rank;
  Cell cell;
};

std::map<Triple, Owned> owners(int points, int side) {
  std::map<Triple, Owned> found;
  for (int rank = 0; rank < side * side; ++rank) {
    const Partition partition(points, rank, side * side);
    for (const Cell& cell : partition.cells()) found.insert({cell.place, {rank, cell}});
  }
  return found;
}

template <typename Function>
void fill(Block& block, Function&& function) {
  const auto& extent = block.cell.extent;
  for (Index k = -2; k < extent[2] + 2; ++k)
    for (Index j = -2; j < extent[1] + 2; ++j)
      for (Index i = -2; i < extent[0] + 2; ++i) {
        const State state = function(block.coordinate(0, i), block.coordinate(1, j), block.coordinate(2, k));
        for (std::size_t m = 0; m < components; ++m)
          block.solution[m][static_cast<std::size_t>(block.shape.at(i, j, k))] = state[m];
      }
}

Block with_spatial_terms(const Cell& cell, const Grid& grid, State (*state)(double, double, double)) {
  Block block(cell, grid);
  fill(block, state);
  find_derived(block);
  add_spatial_terms(block, block.right);
  return block;
}

State right_at(const Block& block, Index i, Index j, Index k) {
  State state{};
  for (std::size_t m = 0; m < components; ++m)
    state[m] = block.right[m][static_cast<std::size_t>(block.shape.at(i, j, k))];
  return state;
}

Cell whole(const Grid& grid) { return Partition(grid.points, 0, 1).cells()[0]; }

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-11 * std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

TEST(each_cell_has_one_rank_and_all_points_are_in_a_cell) {
  for (int side = 1; side <= most_cells; ++side) {
    const auto found = owners(17, side);
    CHECK_EQ(found.size(), static_cast<std::size_t>(side * side * side));
    int points = 0;
    for (const auto& [place, owned] : found) {
      for (const int extent : owned.cell.extent) CHECK(extent >= 3);
      points += owned.cell.extent[0] * owned.cell.extent[1] * owned.cell.extent[2];
      for (std::size_t d = 0; d < dimensions; ++d) {
        Triple next = place;
        if (++next[d] == side) continue;
        CHECK_EQ(owned.cell.first[d] + owned.cell.extent[d], found.at(next).cell.first[d]);
      }
    }
    CHECK_EQ(points, 17 * 17 * 17);
  }
}

TEST(a_rank_has_a_cell_in_every_layer_and_its_neighbours_have_those_beside_them) {
  for (int side = 1; side <= most_cells; ++side) {
    const auto found = owners(17, side);
    for (int rank = 0; rank < side * side; ++rank) {
      const Partition partition(17, rank, side * side);
      for (std::size_t d = 0; d < dimensions; ++d)
        for (int layer = 0; layer < side; ++layer) {
          Triple place = partition.cells()[partition.cell_at(d, layer)].place;
          CHECK_EQ(place[d], layer);
          place[d] = (layer + 1) % side;
          CHECK_EQ(found.at(place).rank, partition.neighbour(d, 1));
          place[d] = (layer + side - 1) % side;
          CHECK_EQ(found.at(place).rank, partition.neighbour(d, -1));
        }
    }
  }
}

TEST(a_number_of_ranks_that_is_no_square_has_no_partition) {
  CHECK_THROWS_SAYING(std::invalid_argument, "8 ranks", Partition(12, 0, 8));
}

TEST(square_roots_are_of_squares_alone) {
  CHECK_EQ(square_root(1), 1);
  CHECK_EQ(square_root(49), 7);
  CHECK_EQ(square_root(2147395600), 46340);
  for (const int number : {0, -4, 2, 8, 15, 2147483647}) CHECK_EQ(square_root(number), 0);
}

TEST(on_the_boundary_the_computation_begins_with_the_exact_solution) {
  for (const auto& [x, y, z] :
       std::vector<std::array<double, 3>>{{0, 0.25, 0.5}, {0.25, 1, 0.5}, {0.3, 0.7, 0}})
    CHECK(initial_state(x, y, z) == exact_solution(x, y, z));
  CHECK(initial_state(0.25, 0.25, 0.5) != exact_solution(0.25, 0.25, 0.5));
}

TEST(the_fourth_difference_is_symmetric_and_of_no_cubic_away_from_the_boundary) {
  constexpr int points = 12;
  for (int row = 1; row < points - 1; ++row)
    for (int column = std::max(1, row - 2); column <= std::min(points - 2, row + 2); ++column)
      CHECK_EQ(fourth_difference(row, points)[static_cast<std::size_t>(column - row + 2)],
               fourth_difference(column, points)[static_cast<std::size_t>(row - column + 2)]);
  double sum = 0;
  for (int i = 0; i < 5; ++i)
    sum += fourth_difference(5, points)[static_cast<std::size_t>(i)] * std::pow(i, 3);
  CHECK_EQ(sum, 0.0);
}

TEST(a_gas_that_is_the_same_everywhere_stays_so_but_for_dissipation_at_the_boundary) {
  const Grid grid{12, 0.01};
  const Block block = with_spatial_terms(whole(grid), grid, [](double, double, double) {
    return State{2, 1, -1, 3, 9};
  });
  for (Index k = 3; k < 9; ++k)
    for (Index j = 3; j < 9; ++j)
      for (Index i = 3; i < 9; ++i)
        for (const double value : right_at(block, i, j, k)) CHECK(std::abs(value) < 1e-12);
  // 5 - 4 + 1 times a quarter of the density.
  CHECK(close(right_at(block, 1, 5, 5)[density], -0.25 * 2 * 2));
}

TEST(cells_have_the_same_right_hand_side_as_the_whole_grid) {
  const Grid grid{14, 0.01};
  const Block all = with_spatial_terms(whole(grid), grid, exact_solution);
  for (int rank = 0; rank < 9; ++rank) {
    const Partition partition(grid.points, rank, 9);
    for (const Cell& cell : partition.cells()) {
      const Block part = with_spatial_terms(cell, grid, exact_solution);
      for (Index k = 0; k < cell.extent[2]; ++k)
        for (Index j = 0; j < cell.extent[1]; ++j)
          for (Index i = 0; i < cell.extent[0]; ++i) {
            const State whole_one = right_at(all, cell.first[0] + i, cell.first[1] + j, cell.first[2] + k);
            const State part_one = right_at(part, i, j, k);
            for (std::size_t m = 0; m < components; ++m) CHECK(close(part_one[m], whole_one[m]));
          }
    }
  }
}

TEST(x_and_y_are_treated_alike) {
  const Grid grid{12, 0.01};
  const Block block = with_spatial_terms(whole(grid), grid, exact_solution);
  const Block turned = with_spatial_terms(whole(grid), grid, [](double x, double y, double z) {
    State state = exact_solution(y, x, z);
    std::swap(state[1], state[2]);
    return state;
  });
  for (Index k = 0; k < 12; ++k)
    for (Index j = 0; j < 12; ++j)
      for (Index i = 0; i < 12; ++i) {
        State other = right_at(turned, j, i, k);
        std::swap(other[1], other[2]);
        for (std::size_t m = 0; m < components; ++m) CHECK(close(right_at(block, i, j, k)[m], other[m]));
      }
}
