// LU (RNR-94-007, section 3): a flow's equations, discretised on a cube of points and iterated to their
// steady state by symmetric successive over-relaxation.
//
// Sizes, results, operations counted and tolerance: NPB 3.4, LU (npbparams, verify).
#include <array>
#include <string>

#include "npb/common/benchmark.hpp"
#include "npb/lu/flow.hpp"
#include "npb/lu/halo.hpp"
#include "npb/lu/right_side.hpp"
#include "npb/lu/subdomain.hpp"
#include "npb/lu/surface.hpp"
#include "npb/lu/sweeps.hpp"

namespace crosscut::npb::lu {
namespace {

constexpr double tolerance = 1e-8;

struct Size {
  int side;  // points along each dimension
  int iterations;
  double time_step;
  State residual;  // root of the mean square, by component
  State error;     // likewise, against the exact solution
  double surface_integral;
};

constexpr PerClass<Size> sizes{
    {{{12,
       50,
       0.5,
       {1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03, 1.5029584435994323e-03,
        3.4264073155896461e-02},
       {6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05, 5.8474222595157350e-05,
        1.3103347914111294e-03},
       7.8418928865937083},
      {33,
       300,
       1.5e-3,
       {12.36511638192, 1.317228477799, 2.550120713095, 2.326187750252, 28.26799444189},
       {0.4867877144216, 0.05064652880982, 0.09281818101960, 0.08570126542733, 1.084277417792},
       11.61399311023},
      {64,
       250,
       2,
       {7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02, 1.7845301160418537e+02,
        1.8384760349464247e+03},
       {2.9964085685471943e+01, 2.8194576365003349, 7.3473412698774742, 6.7139225687777051,
        7.0715315688392578e+01},
       26.030925604886277},
      {102,
       250,
       2,
       {3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02, 7.7812774739425265e+02,
        7.3087969592545314e+03},
       {1.1401176380212709e+02, 8.1098963655421574, 2.8480597317698308e+01, 2.5905394567832939e+01,
        2.6054907504857413e+02},
       47.887162703308227},
      {162,
       250,
       2,
       {1.03766980323537846e+04, 8.92212458801008552e+02, 2.56238814582660871e+03, 2.19194343857831427e+03,
        1.78078057261061185e+04},
       {2.15986399716949279e+02, 1.55789559239863600e+01, 5.41318863077207766e+01, 4.82262643154045421e+01,
        4.55902910043250358e+02},
       66.6404553572181300}}}};

class Solver {
 public:
  Solver(Communicator& world, const Size& size, const Subdomain& domain)
      : world_(world),
        domain_(domain),
        halo_(world, domain),
        right_side_(domain),
        sweeps_(domain, size.time_step),
        u_(domain.field(1)),
        forcing_(domain.field(0)),
        change_(domain.field(0)) {
    // The forcing that keeps the exact solution steady.
    set(exact_solution);
    right_side_.add(u_, halo_, forcing_);
  }

  State start() {
    set(initial_state);
    find_right_side();
    return change_norm();
  }

  void sweep() {
    sweeps_.solve(u_, halo_, change_);
    constexpr double factor = 1 / (relaxation * (2 - relaxation));
    for_each_inner_row([&](double* u, const double*, const double* change, Index count) {
      for (Index n = 0; n < count; ++n) u[n] += factor * change[n];
    });
  }

  void find_right_side() {
    for_each_inner_row([&](const double*, const double* forcing, double* change, Index count) {
      for (Index n = 0; n < count; ++n) change[n] = -forcing[n];
    });
    right_side_.add(u_, halo_, change_);
  }

  // Return roots of mean squares, by component, over all points inside the cube.
  State change_norm() {
    return root_of_mean_square([&](Index x, Index y, Index z) { return change_.at(x, y, z); });
  }
  State solution_error() {
    return root_of_mean_square([&](Index x, Index y, Index z) {
      State away = at_point(exact_solution, x, y, z);
      const State found = u_.at(x, y, z);
      for (std::size_t m = 0; m < components; ++m) away[m] -= found[m];
      return away;
    });
  }
  double surface() { return SurfaceIntegral(world_, domain_, u_).find(); }

 private:
  using Solution = State(double x, double y, double z);

  // Returns the solution at this rank's point (x, y, z).
  State at_point(Solution solution, Index x, Index y, Index z) const {
    const double last = domain_.side() - 1;
    return solution(static_cast<double>(domain_.x().offset + x) / last,
                    static_cast<double>(domain_.y().offset + y) / last, static_cast<double>(z) / last);
  }

  void set(Solution solution) {
    for (Index z = 0; z < domain_.z().points; ++z)
      for (Index y = 0; y < domain_.y().points; ++y)
        for (Index x = 0; x < domain_.x().points; ++x) u_.set(x, y, z, at_point(solution, x, y, z));
  }

  template <typename Value>
  State root_of_mean_square(Value&& value) {
    State squares{};
    for (Index z = domain_.z().inner.begin; z < domain_.z().inner.end; ++z)
      for (Index y = domain_.y().inner.begin; y < domain_.y().inner.end; ++y)
        for (Index x = domain_.x().inner.begin; x < domain_.x().inner.end; ++x) {
          const State values = value(x, y, z);
          for (std::size_t m = 0; m < components; ++m) squares[m] += values[m] * values[m];
        }
    return root_of_mean(world_, squares, domain_.side());
  }

  template <typename Visit>
  void for_each_inner_row(Visit&& visit) {
    const Range x = domain_.x().inner;
    for (Index z = domain_.z().inner.begin; z < domain_.z().inner.end; ++z)
      for (Index y = domain_.y().inner.begin; y < domain_.y().inner.end; ++y)
        for (Index m = 0; m < components; ++m) {
          const Index at = x.begin + m * u_.pitch();
          visit(u_.row(y, z) + at, forcing_.row(y, z) + at, change_.row(y, z) + at, x.size());
        }
  }

  Communicator& world_;
  const Subdomain& domain_;
  Halo halo_;
  RightSide right_side_;
  Sweeps sweeps_;
  Field u_;
  Field forcing_;
  Field change_;
};

std::string unsuitable(int ranks, const Options& options) {
  const auto grid = rank_grid(ranks);
  // Like NPB 3.4, this accepts all numbers that make a grid; powers of two always do.
  if (!grid) return not_a_power_of_two(ranks);
  const int most = sizes[options.problem_class].side / least_points;
  if (grid->front() <= most) return "";
  return std::to_string(ranks) + " ranks: class " + letter(options.problem_class) +
         " has enough points for at most " + std::to_string(most) + " ranks along a dimension, not " +
         std::to_string(grid->front());
}

// Returns the operations of one iteration, as counted by NPB.
double operations(double side) {
  return 1984.77 * side * side * side - 10923.3 * side * side + 27770.9 * side - 144010;
}

Outcome run(Communicator& world, const Options& options) {
  const Size& size = sizes[options.problem_class];
  const Subdomain domain(size.side, rank_grid(world.size()).value(), world.rank());
  Solver solver(world, size, domain);
  solver.start();
  solver.sweep();  // untimed: pages and connections
  solver.find_right_side();
  solver.start();
  State residual;
  Outcome outcome = timed(world, [&] {
    for (int i = 1; i <= size.iterations; ++i) {
      solver.sweep();
      if (i == size.iterations) solver.change_norm();
      solver.find_right_side();
    }
    residual = solver.change_norm();
  });
  outcome.iterations = size.iterations;
  const State away = solver.solution_error();
  const double surface = solver.surface();
  outcome.million_operations = 1e-6 * size.iterations * operations(size.side);
  outcome.size = product_text(size.side, size.side, size.side) + " points";
  outcome.layout = product_text(domain.grid()[0], domain.grid()[1]) + " pencils";
  for (std::size_t m = 0; m < components; ++m)
    outcome.checks.push_back({"residual " + std::to_string(m + 1), residual[m], size.residual[m], tolerance});
  for (std::size_t m = 0; m < components; ++m)
    outcome.checks.push_back({"error " + std::to_string(m + 1), away[m], size.error[m], tolerance});
  outcome.checks.push_back({"surface integral", surface, size.surface_integral, tolerance});
  return outcome;
}

}  // namespace
}  // namespace crosscut::npb::lu

const crosscut::npb::Benchmark crosscut::npb::benchmark{
    .about = {.name = "lu",
              .title = "NAS Parallel Benchmark LU: lower-upper symmetric Gauss-Seidel",
              .operation = "floating point"},
    .unsuitable = lu::unsuitable,
    .run = lu::run};
