// Common parts of SP and BT: problem sizes, the course of a run, verification.
#pragma once

#include <array>
#include <string>

#include "npb/common/benchmark.hpp"
#include "npb/multipartition/flow.hpp"
#include "npb/multipartition/partition.hpp"
#include "npb/multipartition/sweep.hpp"

namespace crosscut::npb::multipartition {

struct ProblemSize {
  Grid grid;
  int steps;
  State right_side;  // published norms, after the last step
  State error;
};

struct Problem {
  PerClass<ProblemSize> sizes;
  // Operations per step, as counted by NPB: a polynomial in the points along a side, highest power first.
  std::array<double, 4> operations;
  // Applied to each block before a step solves along x, and after it has solved along z.
  void (*prepare)(Block&) = [](Block&) {};
  void (*finish)(Block&) = [](Block&) {};
};

// Returns why this number of ranks cannot run it; empty if it can.
inline std::string unsuitable_ranks(int ranks, const ProblemSize& size, char class_letter) {
  if (square_root(ranks) == 0) {
    int below = 1;
    while ((below + 1) * (below + 1) < ranks) ++below;
    return std::to_string(ranks) + " ranks: it takes a square number, such as " +
           std::to_string(below * below) + " or " + std::to_string((below + 1) * (below + 1));
  }
  constexpr int smallest_cell_side = 3;  // NPB 3.3, make_set: the stencil is five points wide
  const int most = size.grid.points / smallest_cell_side;
  return at_most(std::int64_t{most} * most, ranks, std::string("the grid of class ") + class_letter + " is");
}

inline void add_checks(const std::string& what, const State& computed, const State& published,
                       Outcome& outcome) {
  constexpr double tolerance = 1e-8;  // NPB 3.3, verify
  constexpr std::array<const char*, components> names{"density", "x momentum", "y momentum", "z momentum",
                                                      "energy"};
  for (std::size_t m = 0; m < components; ++m)
    outcome.checks.push_back({what + " of " + names[m], computed[m], published[m], tolerance});
}

template <typename System>
Outcome simulate(Communicator& world, const Problem& problem, const ProblemSize& size) {
  const Partition partition(size.grid.points, world.rank(), world.size());
  Flow flow(world, partition, size.grid);
  Sweep<System> sweep(world, partition, flow.blocks());
  const auto step = [&] {
    flow.find_right_side();
    for (Block& block : flow.blocks()) problem.prepare(block);
    for (std::size_t dimension = 0; dimension < dimensions; ++dimension) sweep.solve(dimension);
    for (Block& block : flow.blocks()) problem.finish(block);
    flow.add_change();
  };
  step();  // untimed: pages and connections
  flow.set_initial();
  Outcome outcome = timed(world, [&] {
    for (int i = 0; i < size.steps; ++i) step();
  });
  double operations = 0;
  for (const double factor : problem.operations) operations = operations * size.grid.points + factor;
  outcome.iterations = size.steps;
  outcome.million_operations = 1e-6 * size.steps * operations;
  add_checks("error", flow.error_norm(), size.error, outcome);
  flow.find_right_side();
  State residual = flow.right_side_norm();
  for (double& value : residual) value /= size.grid.time_step;
  add_checks("residual", residual, size.right_side, outcome);
  const int points = size.grid.points, cells = partition.side();
  outcome.size = product_text(points, points, points) + " points";
  outcome.layout = product_text(cells, cells, cells) + " cells, " + std::to_string(cells) + " a rank";
  return outcome;
}

template <typename System, const Problem& problem>
constexpr Benchmark benchmark_of(const About& about) {
  return {.about = about,
          .unsuitable =
              [](int ranks, const Options& options) {
                return unsuitable_ranks(ranks, problem.sizes[options.problem_class],
                                        letter(options.problem_class));
              },
          .run =
              [](Communicator& world, const Options& options) {
                return simulate<System>(world, problem, problem.sizes[options.problem_class]);
              }};
}

}  // namespace crosscut::npb::multipartition
