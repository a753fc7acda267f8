// MG (RNR-94-007, section 2.2.2): V-cycles of a multigrid solver for a Poisson equation on a periodic cube.
//
// Sizes, weights, verification values and tolerance: NPB 3.3, MG/mg.f.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "npb/common/benchmark.hpp"
#include "npb/common/random.hpp"
#include "npb/mg/grid.hpp"
#include "npb/mg/halo.hpp"
#include "npb/mg/levels.hpp"
#include "npb/mg/operators.hpp"

namespace crosscut::npb::mg {
namespace {

constexpr double tolerance = 1e-8;
constexpr int coarsest = 1;
constexpr int operations_per_point = 58;  // per iteration, as counted by NPB

struct Size {
  int side_log2;
  int iterations;
  Weights smoother;
  double norm;  // published value
};

constexpr Weights small_smoother{-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
constexpr Weights large_smoother{-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};

constexpr PerClass<Size> sizes{{{{5, 4, small_smoother, 0.5307707005734e-4},
                                 {7, 4, small_smoother, 0.6467329375339e-5},
                                 {8, 4, small_smoother, 0.2433365309069e-5},
                                 {8, 20, large_smoother, 0.1800564401355e-5},
                                 {9, 20, large_smoother, 0.5706732285740e-6}}}};

constexpr std::uint64_t seed = 314159265;
constexpr std::size_t charges = 10;  // of each sign

struct Candidate {
  double value;
  std::size_t i, j, k;
};

// The best `charges` points offered on this rank, best first.
template <typename Better>
class Best {
 public:
  explicit Best(Better better) : better_(better) {}

  void offer(const Candidate& candidate) {
    if (found_.size() == charges && !better_(candidate.value, found_.back().value)) return;
    const auto at = std::ranges::upper_bound(found_, candidate.value, better_, &Candidate::value);
    found_.insert(at, candidate);
    if (found_.size() > charges) found_.pop_back();
  }

  // Puts `charge` at the next best point over all ranks. NPB agrees on the value, then on its owner and
  // position; values are distinct, so exactly one rank has it. `worst` is the value of a rank without
  // candidates.
  void settle(Communicator& world, MPI_Op operation, double worst, double charge, Grid& grid) {
    const bool any = next_ < found_.size();
    const double own = any ? found_[next_].value : worst;
    const double agreed = world.all_reduce_value(own, operation);
    std::array<std::int32_t, 4> where{}, agreed_place{};
    if (any && own == agreed) {
      const Candidate& one = found_[next_++];
      grid.row(one.j, one.k)[one.i] = charge;
      where = {world.rank(), static_cast<std::int32_t>(one.i), static_cast<std::int32_t>(one.j),
               static_cast<std::int32_t>(one.k)};
    }
    world.all_reduce(where, agreed_place, MPI_MAX);  // as in NPB; only its messages matter
  }

 private:
  Better better_;
  std::vector<Candidate> found_;  // on this rank
  std::size_t next_ = 0;          // the next to be settled
};

template <typename Visit>
void for_each_random(const Levels& levels, const Grid& grid, Visit&& visit) {
  const Level& level = levels[levels.finest()];
  const Triple first = levels.first_point();
  const auto at = [&](std::size_t d, std::size_t local) {
    return static_cast<std::uint64_t>(first[d]) + local - 1;
  };
  grid.for_each_inner_row([&](std::size_t j, std::size_t k) {
    const auto row = at(2, k) * static_cast<std::uint64_t>(level.points[1]) + at(1, j);
    RandomStream random(seed, row * static_cast<std::uint64_t>(level.points[0]) + at(0, 1));
    for (std::size_t i = 1; i + 1 < grid.extent(0); ++i) visit(Candidate{random.next(), i, j, k});
  });
}

// The right-hand side (RNR-94-007, section 2.2.2): +1 at the ten points where a grid of random numbers is
// largest, -1 at the ten where it is smallest, 0 elsewhere. Sets the points of this rank's part of the finest
// grid, without the layer around it.
void place_charges(Communicator& world, const Levels& levels, Grid& grid) {
  Best largest{std::ranges::greater{}};
  Best smallest{std::ranges::less{}};
  for_each_random(levels, grid, [&](const Candidate& candidate) {
    largest.offer(candidate);
    smallest.offer(candidate);
  });
  grid.clear();
  for (std::size_t i = 0; i < charges; ++i) {
    largest.settle(world, MPI_MAX, 0.0, +1.0, grid);
    smallest.settle(world, MPI_MIN, 1.0, -1.0, grid);
  }
}

class Solver {
 public:
  Solver(Communicator& world, const Size& size)
      : world_(world),
        size_(size),
        levels_(size.side_log2, world.rank(), world.size()),
        halo_(world),
        right_(levels_[levels_.finest()].extent) {
    for (int number = 0; number <= levels_.finest(); ++number) {
      const Triple extent = number < coarsest ? Triple{0, 0, 0} : levels_[number].extent;
      solution_.emplace_back(extent);
      residual_.emplace_back(extent);
    }
  }

  const Levels& levels() const { return levels_; }

  void set_up() {
    solution_.back().clear();
    place_charges(world_, levels_, right_);
    halo_.exchange(right_, levels_[levels_.finest()]);
  }

  void find_residual() { find_residual(levels_.finest(), right_); }

  double residual_norm() { return norm(residual_.back()); }
  double right_norm() { return norm(right_); }

  // Does one V-cycle.
  void iterate() {
    const int finest = levels_.finest();
    for (int number = finest - 1; number >= coarsest; --number) {
      restrict_to_coarser(residual_of(number + 1), residual_of(number));
      halo_.exchange(residual_of(number), levels_[number]);
    }
    solution(coarsest).clear();
    smooth_level(coarsest);
    for (int number = coarsest + 1; number < finest; ++number) {
      solution(number).clear();
      interpolate_to(number);
      find_residual(number, residual_of(number));
      smooth_level(number);
    }
    interpolate_to(finest);
    find_residual();
    smooth_level(finest);
    find_residual();
  }

 private:
  // Returns the root of the mean square. Also finds the largest value, as NPB does.
  double norm(const Grid& grid) {
    // Several sums, since each addition waits for the one before.
    std::array<double, 4> squares{}, largest{};
    grid.for_each_inner_row([&](std::size_t j, std::size_t k) {
      const double* row = grid.row(j, k);
      const std::size_t end = grid.extent(0) - 1;
      const auto add = [&](std::size_t lane, double value) {
        squares[lane] += value * value;
        largest[lane] = std::max(largest[lane], std::abs(value));
      };
      std::size_t i = 1;
      for (; i + squares.size() <= end; i += squares.size())
        for (std::size_t lane = 0; lane < squares.size(); ++lane) add(lane, row[i + lane]);
      for (; i < end; ++i) add(0, row[i]);
    });
    world_.most(std::ranges::max(largest));
    const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
    return std::sqrt(std::ldexp(world_.sum(sum), -3 * size_.side_log2));
  }

  Grid& solution(int number) { return solution_[static_cast<std::size_t>(number)]; }
  Grid& residual_of(int number) { return residual_[static_cast<std::size_t>(number)]; }

  void find_residual(int number, const Grid& right) {
    residual(solution(number), right, residual_of(number));
    halo_.exchange(residual_of(number), levels_[number]);
  }

  void smooth_level(int number) {
    smooth(residual_of(number), solution(number), size_.smoother);
    halo_.exchange(solution(number), levels_[number]);
  }

  // Interpolates from the level below. Ranks that are idle there are given the result.
  void interpolate_to(int number) {
    if (!levels_[number - 1].idle) interpolate(solution(number - 1), solution(number));
    halo_.give_to_idle(solution(number), levels_[number]);
  }

  Communicator& world_;
  const Size& size_;
  Levels levels_;
  Halo halo_;
  Grid right_;
  std::vector<Grid> solution_;  // by level
  std::vector<Grid> residual_;
};

std::string unsuitable(int ranks, const Options& options) {
  if (!is_power_of_two(ranks)) return not_a_power_of_two(ranks);
  // The finest grid needs two points per rank along each dimension.
  return at_most(1 << (3 * (sizes[options.problem_class].side_log2 - 1)), ranks,
                 std::string("the grid of class ") + letter(options.problem_class) + " is");
}

Outcome run(Communicator& world, const Options& options) {
  const Size& size = sizes[options.problem_class];
  Solver solver(world, size);
  solver.set_up();
  solver.right_norm();
  solver.find_residual();
  solver.residual_norm();
  solver.iterate();  // untimed: pages and connections
  solver.set_up();
  double norm = 0;
  Outcome outcome = timed(world, [&] {
    solver.find_residual();
    solver.residual_norm();
    for (int i = 0; i < size.iterations; ++i) solver.iterate();
    norm = solver.residual_norm();
  });
  outcome.iterations = size.iterations;
  outcome.million_operations =
      1e-6 * operations_per_point * size.iterations * std::ldexp(1.0, 3 * size.side_log2);
  const int side = 1 << size.side_log2;
  outcome.size = product_text(side, side, side) + " points";
  const Triple& ranks = solver.levels().ranks();
  outcome.layout = product_text(ranks[0], ranks[1], ranks[2]) + " parts of the grid";
  outcome.checks = {{"norm of the residual", norm, size.norm, tolerance}};
  return outcome;
}

}  // namespace
}  // namespace crosscut::npb::mg

const crosscut::npb::Benchmark crosscut::npb::benchmark{
    .about = {.name = "mg", .title = "NAS Parallel Benchmark MG: multigrid", .operation = "floating point"},
    .unsuitable = mg::unsuitable,
    .run = mg::run};
