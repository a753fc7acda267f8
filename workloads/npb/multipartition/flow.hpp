// A rank's part of the gas: its cells, a time step's right-hand side, and the error of the solution.
#pragma once

#include <cmath>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/multipartition/block.hpp"
#include "npb/multipartition/faces.hpp"
#include "npb/multipartition/partition.hpp"
#include "npb/multipartition/right_side.hpp"

namespace crosscut::npb::multipartition {

class Flow {
 public:
  Flow(Communicator& world, const Partition& partition, const Grid& grid)
      : world_(world), grid_(grid), faces_(world, partition) {
    blocks_.reserve(partition.cells().size());
    for (const Cell& cell : partition.cells()) set_forcing(blocks_.emplace_back(cell, grid));
    set_initial();
  }

  std::vector<Block>& blocks() { return blocks_; }

  // Sets the initial solution. The layers around cells, which come in messages, stay.
  void set_initial() {
    for (Block& block : blocks_) set_solution(block, 0, initial_state);
  }

  // Exchanges faces and computes the explicit change in a time step.
  void find_right_side() {
    faces_.exchange(blocks_);
    for (Block& block : blocks_) {
      find_derived(block);
      block.right = block.forcing;
      add_spatial_terms(block, block.right);
      for (Values& component : block.right)
        for (double& value : component) value *= grid_.time_step;
    }
  }

  // Ends a time step: adds the solved change to the solution.
  void add_change() {
    for (Block& block : blocks_)
      for (std::size_t m = 0; m < components; ++m)
        block.for_each_inner_row([&](Index j, Index k) {
          const Index begin = block.shape.at(block.cell.begin[0], j, k);
          double* __restrict to = block.solution[m].data() + begin;
          const double* change = block.right[m].data() + begin;
          for (Index i = 0; i < block.cell.end[0] - block.cell.begin[0]; ++i) to[i] += change[i];
        });
  }

  // Roots of the mean squares, by component. As in NPB, divides by the number of points inside the boundary,
  // although errors of points on it count, too.
  State error_norm() {
    State squares{};
    for (const Block& block : blocks_)
      for_each_point(block.cell.extent, 0, [&](Index i, Index j, Index k) {
        const State exact =
            exact_solution(block.coordinate(0, i), block.coordinate(1, j), block.coordinate(2, k));
        const auto at = static_cast<std::size_t>(block.shape.at(i, j, k));
        for (std::size_t m = 0; m < components; ++m)
          squares[m] += std::pow(block.solution[m][at] - exact[m], 2);
      });
    return root_of_mean(world_, squares, grid_.points);
  }

  State right_side_norm() {
    State squares{};
    for (const Block& block : blocks_)
      block.for_each_inner_row([&](Index j, Index k) {
        for (Index i = block.cell.begin[0]; i < block.cell.end[0]; ++i)
          for (std::size_t m = 0; m < components; ++m)
            squares[m] += std::pow(block.right[m][static_cast<std::size_t>(block.shape.at(i, j, k))], 2);
      });
    return root_of_mean(world_, squares, grid_.points);
  }

 private:
  // Visits the points of a cell and of `around` layers around it.
  template <typename Visit>
  static void for_each_point(const Triple& extent, Index around, Visit&& visit) {
    for (Index k = -around; k < extent[2] + around; ++k)
      for (Index j = -around; j < extent[1] + around; ++j)
        for (Index i = -around; i < extent[0] + around; ++i) visit(i, j, k);
  }

  static void set_solution(Block& block, Index around, State (*solution)(double x, double y, double z)) {
    for_each_point(block.cell.extent, around, [&](Index i, Index j, Index k) {
      const State state = solution(block.coordinate(0, i), block.coordinate(1, j), block.coordinate(2, k));
      const auto at = static_cast<std::size_t>(block.shape.at(i, j, k));
      for (std::size_t m = 0; m < components; ++m) block.solution[m][at] = state[m];
    });
  }

  // Sets the forcing that makes the exact solution one: its spatial terms with the opposite sign.
  static void set_forcing(Block& block) {
    set_solution(block, Shape::layers, exact_solution);
    find_derived(block);
    add_spatial_terms(block, block.forcing);
    for (Values& component : block.forcing)
      for (double& value : component) value = -value;
  }

  Communicator& world_;
  const Grid grid_;
  Faces faces_;
  std::vector<Block> blocks_;
};

}  // namespace crosscut::npb::multipartition
