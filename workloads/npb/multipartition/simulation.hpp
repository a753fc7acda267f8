// What SP and BT have in common but for the solver: problem sizes, the course of a run, verification.
#pragma once

#include <string>

#include "npb/common/benchmark.hpp"
#include "npb/multipartition/flow.hpp"
#include "npb/multipartition/partition.hpp"

namespace crosscut::npb::multipartition {

struct ProblemSize {
  Grid grid;
  int steps;
  State right_side;  // published norms, after the last step
  State error;
};

// Empty where so many ranks can run it.
std::string unsuitable_ranks(int ranks, const ProblemSize& size, char class_letter);

// Size, layout and checks. Computes the norms, which all ranks must.
void conclude(Flow& flow, const Partition& partition, const ProblemSize& size, Outcome& outcome);

// `Solver(world, partition, flow)` makes steps.
template <typename Solver>
Outcome simulate(Communicator& world, const ProblemSize& size) {
  const Partition partition(size.grid.points, world.rank(), world.size());
  Flow flow(world, partition, size.grid);
  Solver solver(world, partition, flow);
  solver.step();  // untimed: pages and connections
  flow.set_initial();
  Outcome outcome;
  outcome.iterations = size.steps;
  const TimedSection section(world);
  for (int i = 0; i < size.steps; ++i) solver.step();
  section.stop(outcome);
  conclude(flow, partition, size, outcome);
  return outcome;
}

}  // namespace crosscut::npb::multipartition
