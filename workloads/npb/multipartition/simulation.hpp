// What SP and BT share: problem sizes, the course of a run, verification.
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
  // NPB counts this many operations a step: a polynomial of the points along a side, the highest power first.
  std::array<double, 4> operations;
  // What a step does to each block before it solves along x, and after it solved along z.
  void (*prepare)(Block&) = [](Block&) {};
  void (*finish)(Block&) = [](Block&) {};
};

// Empty where so many ranks can run it.
std::string unsuitable_ranks(int ranks, const ProblemSize& size, char class_letter);

// Adds iterations, operations, size, layout and checks. Computes the norms, so all ranks must call it.
void conclude(Flow& flow, const Partition& partition, const Problem& problem, const ProblemSize& size,
              Outcome& outcome);

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
  conclude(flow, partition, problem, size, outcome);
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
