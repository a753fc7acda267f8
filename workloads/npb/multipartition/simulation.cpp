#include "npb/multipartition/simulation.hpp"

#include <string_view>

namespace crosscut::npb::multipartition {

namespace {

constexpr double tolerance = 1e-8;     // NPB 3.3, verify
constexpr int smallest_cell_side = 3;  // NPB 3.3, make_set: the stencil is five points wide

constexpr std::array<std::string_view, components> names{"density", "x momentum", "y momentum", "z momentum",
                                                         "energy"};

void add_checks(std::string_view what, const State& computed, const State& published, Outcome& outcome) {
  for (std::size_t m = 0; m < components; ++m)
    outcome.checks.push_back(
        {std::string(what) + " of " + std::string(names[m]), computed[m], published[m], tolerance});
}

}  // namespace

std::string unsuitable_ranks(int ranks, const ProblemSize& size, char class_letter) {
  if (square_root(ranks) == 0) {
    int below = 1;
    while ((below + 1) * (below + 1) < ranks) ++below;
    return std::to_string(ranks) + " ranks: it takes a square number, such as " +
           std::to_string(below * below) + " or " + std::to_string((below + 1) * (below + 1));
  }
  const int most = size.grid.points / smallest_cell_side;
  return at_most(most * most, ranks, std::string("the grid of class ") + class_letter + " is");
}

void conclude(Flow& flow, const Partition& partition, const Problem& problem, const ProblemSize& size,
              Outcome& outcome) {
  double operations = 0;
  for (const double factor : problem.operations) operations = operations * size.grid.points + factor;
  outcome.iterations = size.steps;
  outcome.million_operations = 1e-6 * size.steps * operations;
  add_checks("error", flow.error_norm(), size.error, outcome);
  flow.find_right_side();
  State residual = flow.right_side_norm();
  for (double& value : residual) value /= size.grid.time_step;
  add_checks("residual", residual, size.right_side, outcome);
  const std::string points = std::to_string(size.grid.points);
  outcome.size = points + " x " + points + " x " + points + " points";
  const std::string cells = std::to_string(partition.side());
  outcome.layout = cells + " x " + cells + " x " + cells + " cells, " + cells + " a rank";
}

}  // namespace crosscut::npb::multipartition
