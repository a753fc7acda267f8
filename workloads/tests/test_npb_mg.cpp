#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "npb/mg/grid.hpp"
#include "npb/mg/levels.hpp"
#include "npb/mg/operators.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::npb::mg;

namespace {

template <typename Value>
void fill(Grid& grid, Value&& value) {
  for (std::size_t k = 0; k < grid.extent(2); ++k)
    for (std::size_t j = 0; j < grid.extent(1); ++j)
      for (std::size_t i = 0; i < grid.extent(0); ++i) grid.row(j, k)[i] = value(i, j, k);
}

}  // namespace

TEST(on_every_level_the_ranks_have_all_points_between_them) {
  for (int ranks = 1; ranks <= 512; ranks *= 2) {
    std::vector<Levels> all;
    for (int rank = 0; rank < ranks; ++rank) all.emplace_back(5, rank, ranks);
    for (int number = 1; number <= 5; ++number) {
      long points = 0;
      for (const Levels& levels : all) {
        const Level& level = levels[number];
        points += static_cast<long>(level.extent[0] - 2) * (level.extent[1] - 2) * (level.extent[2] - 2);
      }
      CHECK_EQ(points, 1L << (3 * number));
    }
  }
}

TEST(neighbours_of_a_rank_with_points_have_points_and_name_it_back) {
  for (int ranks = 2; ranks <= 512; ranks *= 2) {
    std::vector<Levels> all;
    for (int rank = 0; rank < ranks; ++rank) all.emplace_back(5, rank, ranks);
    for (int number = 1; number <= 5; ++number)
      for (int rank = 0; rank < ranks; ++rank) {
        const Level& own = all[static_cast<std::size_t>(rank)][number];
        if (own.idle) continue;
        for (std::size_t d = 0; d < dimensions; ++d)
          for (std::size_t side = 0; side < 2; ++side) {
            const Level& other = all[static_cast<std::size_t>(own.neighbours[d][side])][number];
            CHECK(!other.idle);
            CHECK_EQ(other.neighbours[d][1 - side], rank);
          }
      }
  }
}

TEST(who_is_given_a_part_is_given_it_by_two_that_give) {
  for (int ranks = 2; ranks <= 512; ranks *= 2) {
    std::vector<Levels> all;
    for (int rank = 0; rank < ranks; ++rank) all.emplace_back(5, rank, ranks);
    int given = 0;
    for (int number = 2; number <= 5; ++number)
      for (int rank = 0; rank < ranks; ++rank) {
        const Level& own = all[static_cast<std::size_t>(rank)][number];
        for (std::size_t d = 0; d < dimensions; ++d) {
          if (!own.is_given[d]) continue;
          ++given;
          for (const int neighbour : own.neighbours[d])
            CHECK(all[static_cast<std::size_t>(neighbour)][number].gives[d]);
        }
      }
    // From 16 ranks on, the coarsest level has fewer points along a dimension than ranks.
    CHECK_EQ(given > 0, ranks >= 16);
  }
}

TEST(a_constant_is_in_the_kernel_of_the_operator) {
  Grid solution({6, 7, 8}), right({6, 7, 8}), result({6, 7, 8});
  fill(solution, [](auto...) { return 3.0; });
  fill(right, [](auto...) { return 0.25; });
  residual(solution, right, result);
  for (std::size_t k = 1; k + 1 < 8; ++k)
    for (std::size_t j = 1; j + 1 < 7; ++j)
      for (std::size_t i = 1; i + 1 < 6; ++i) CHECK(std::abs(result.row(j, k)[i] - 0.25) < 1e-14);
}

TEST(a_unit_point_comes_out_with_the_operator_s_weights) {
  Grid solution({5, 5, 5}), right({5, 5, 5}), result({5, 5, 5});
  solution.row(2, 2)[2] = 1;
  residual(solution, right, result);
  CHECK_EQ(result.row(2, 2)[2], 8.0 / 3);
  CHECK_EQ(result.row(2, 2)[1], 0.0);
  CHECK_EQ(result.row(1, 2)[3], -1.0 / 6);
  CHECK_EQ(result.row(2, 3)[1], -1.0 / 6);
  CHECK_EQ(result.row(1, 3)[3], -1.0 / 12);
}

TEST(interpolation_reproduces_what_is_linear) {
  Grid coarser({4, 4, 4}), finer({6, 6, 6});
  const auto linear = [](double x, double y, double z) { return 1 + 2 * x - 3 * y + 0.5 * z; };
  const auto of = [](std::size_t index) { return static_cast<double>(index); };
  fill(coarser, [&](auto i, auto j, auto k) { return linear(2 * of(i), 2 * of(j), 2 * of(k)); });
  interpolate(coarser, finer);
  for (std::size_t k = 1; k < 5; ++k)
    for (std::size_t j = 1; j < 5; ++j)
      for (std::size_t i = 1; i < 5; ++i)
        CHECK(std::abs(finer.row(j, k)[i] - linear(of(i), of(j), of(k))) < 1e-14);
}

TEST(restriction_keeps_what_is_linear_four_times) {
  Grid coarser({4, 4, 4}), finer({6, 6, 6});
  const auto of = [](std::size_t index) { return static_cast<double>(index); };
  fill(finer, [&](auto i, auto j, auto k) { return 1 + of(i) + 10 * of(j) + 100 * of(k); });
  restrict_to_coarser(finer, coarser);
  // 1/2 + 6/4 + 12/8 + 8/16 = 4: the weights add up to 4 (NPB 3.3, MG/mg.f, rprj3).
  for (std::size_t k = 1; k < 3; ++k)
    for (std::size_t j = 1; j < 3; ++j)
      for (std::size_t i = 1; i < 3; ++i)
        CHECK(std::abs(coarser.row(j, k)[i] - 4 * (1 + 2 * of(i) + 20 * of(j) + 200 * of(k))) < 1e-10);
}

TEST(what_is_copied_out_of_a_box_goes_back_where_it_was) {
  Grid grid({5, 4, 3}), copy({5, 4, 3});
  fill(grid, [](auto i, auto j, auto k) { return static_cast<double>(i + 10 * j + 100 * k); });
  const Box box{{1, 0, 2}, {4, 3, 3}};
  std::vector<double> values(box.size());
  grid.copy_out(box, values);
  copy.copy_in(box, values);
  CHECK_EQ(copy.row(2, 2)[3], 223.0);
  CHECK_EQ(copy.row(3, 2)[3], 0.0);
  CHECK_EQ(copy.row(2, 2)[4], 0.0);
}
