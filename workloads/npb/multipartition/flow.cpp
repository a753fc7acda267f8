#include "npb/multipartition/flow.hpp"

#include <cmath>

#include "npb/multipartition/right_side.hpp"

namespace crosscut::npb::multipartition {

namespace {

template <typename Function>
void set_solution(Block& block, Index around, Function&& function) {
  const Triple& extent = block.cell.extent;
  for (Index k = -around; k < extent[2] + around; ++k)
    for (Index j = -around; j < extent[1] + around; ++j)
      for (Index i = -around; i < extent[0] + around; ++i) {
        const State state = function(block.coordinate(0, i), block.coordinate(1, j), block.coordinate(2, k));
        const auto at = static_cast<std::size_t>(block.shape.at(i, j, k));
        for (std::size_t m = 0; m < components; ++m) block.solution[m][at] = state[m];
      }
}

// What makes the exact solution one: the spatial terms of it, with the opposite sign.
void set_forcing(Block& block) {
  set_solution(block, Shape::layers, exact_solution);
  find_derived(block);
  add_spatial_terms(block, block.forcing);
  for (Values& component : block.forcing)
    for (double& value : component) value = -value;
}

}  // namespace

Flow::Flow(Communicator& world, const Partition& partition, const Grid& grid)
    : world_(world), grid_(grid), faces_(world, partition) {
  blocks_.reserve(partition.cells().size());
  for (const Cell& cell : partition.cells()) set_forcing(blocks_.emplace_back(cell, grid));
  set_initial();
}

void Flow::set_initial() {
  for (Block& block : blocks_) set_solution(block, 0, initial_state);
}

void Flow::find_right_side() {
  faces_.exchange(blocks_);
  for (Block& block : blocks_) {
    find_derived(block);
    block.right = block.forcing;
    add_spatial_terms(block, block.right);
    for (Values& component : block.right)
      for (double& value : component) value *= grid_.time_step;
  }
}

void Flow::add_change() {
  for (Block& block : blocks_)
    for (std::size_t m = 0; m < components; ++m)
      block.for_each_inner_row([&](Index j, Index k) {
        const Index begin = block.shape.at(block.cell.begin[0], j, k);
        double* __restrict to = block.solution[m].data() + begin;
        const double* change = block.right[m].data() + begin;
        for (Index i = 0; i < block.cell.end[0] - block.cell.begin[0]; ++i) to[i] += change[i];
      });
}

State Flow::norm_of(const State& sum_of_squares) {
  State norm{};
  world_.all_reduce(sum_of_squares, norm, MPI_SUM);
  for (double& value : norm) value = std::sqrt(value / std::pow(grid_.points - 2, 3));
  return norm;
}

State Flow::error_norm() {
  State squares{};
  for (const Block& block : blocks_)
    block.for_each_row([&](Index j, Index k) {
      for (Index i = 0; i < block.cell.extent[0]; ++i) {
        const State exact =
            exact_solution(block.coordinate(0, i), block.coordinate(1, j), block.coordinate(2, k));
        const auto at = static_cast<std::size_t>(block.shape.at(i, j, k));
        for (std::size_t m = 0; m < components; ++m)
          squares[m] += std::pow(block.solution[m][at] - exact[m], 2);
      }
    });
  return norm_of(squares);
}

State Flow::right_side_norm() {
  State squares{};
  for (const Block& block : blocks_)
    block.for_each_inner_row([&](Index j, Index k) {
      for (Index i = block.cell.begin[0]; i < block.cell.end[0]; ++i)
        for (std::size_t m = 0; m < components; ++m)
          squares[m] += std::pow(block.right[m][static_cast<std::size_t>(block.shape.at(i, j, k))], 2);
    });
  return norm_of(squares);
}

}  // namespace crosscut::npb::multipartition
