// CG (RNR-94-007, section 2.2.3): the largest eigenvalue of a sparse matrix by inverse iteration, each step
// of which is solved by 25 steps of conjugate gradients.
//
// Sizes, verification values and tolerance: NPB 3.3, CG/cg.f.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "npb/cg/processor_grid.hpp"
#include "npb/cg/sparse_matrix.hpp"
#include "npb/common/benchmark.hpp"

namespace crosscut::npb::cg {
namespace {

constexpr int gradient_steps = 25;
constexpr double tolerance = 1e-10;

constexpr PerClass<MatrixSize> sizes{{{{1400, 7, 15, 10, 8.5971775078648},
                                       {7000, 8, 15, 12, 10.362595087124},
                                       {14000, 11, 15, 20, 17.130235054029},
                                       {75000, 13, 75, 60, 22.712745482631},
                                       {150000, 15, 75, 110, 28.973605592845}}}};

double product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Solver {
 public:
  Solver(Communicator& world, const MatrixSize& size)
      : grid_(world, size.order),
        matrix_(size, grid_.rows(), grid_.columns()),
        partial_(grid_.rows().size()),
        image_(std::max(grid_.rows().size(), grid_.columns().size())),
        x_(grid_.columns().size(), 1.0),
        z_(x_.size()),
        residual_(x_.size()),
        direction_(x_.size()) {}

  void restart() { std::ranges::fill(x_, 1.0); }

  // One step of inverse iteration: returns x.z, where z solves A z = x, and scales x to z / |z|.
  double step() {
    solve();
    const auto [xz, zz] = grid_.sum(std::array{product(x_, z_), product(z_, z_)});
    const double scale = 1 / std::sqrt(zz);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = scale * z_[i];
    return xz;
  }

  const ProcessorGrid& grid() const { return grid_; }

 private:
  // image_ = A v.
  std::span<const double> apply(std::span<const double> v) {
    matrix_.multiply(v, partial_);
    grid_.sum_and_transpose(partial_, image_);
    return std::span<const double>(image_).first(v.size());
  }

  double sum_product(std::span<const double> a, std::span<const double> b) {
    return grid_.sum(std::array{product(a, b)})[0];
  }

  void solve() {
    std::ranges::fill(z_, 0.0);
    residual_ = x_;
    direction_ = x_;
    double rho = sum_product(residual_, residual_);
    for (int step = 0; step < gradient_steps; ++step) {
      const auto image = apply(direction_);
      const double alpha = rho / sum_product(direction_, image);
      for (std::size_t i = 0; i < z_.size(); ++i) {
        z_[i] += alpha * direction_[i];
        residual_[i] -= alpha * image[i];
      }
      const double previous = rho;
      rho = sum_product(residual_, residual_);
      const double beta = rho / previous;
      for (std::size_t i = 0; i < z_.size(); ++i) direction_[i] = residual_[i] + beta * direction_[i];
    }
    distance_ = distance();
  }

  // |x - A z|: part of what is timed (RNR-94-007, section 2.2.3), though nothing depends on it.
  double distance() {
    const auto image = apply(z_);
    double sum = 0;
    for (std::size_t i = 0; i < z_.size(); ++i) sum += (x_[i] - image[i]) * (x_[i] - image[i]);
    return std::sqrt(grid_.sum(std::array{sum})[0]);
  }

  ProcessorGrid grid_;
  SparseMatrix matrix_;
  std::vector<double> partial_;
  std::vector<double> image_;
  std::vector<double> x_;
  std::vector<double> z_;
  std::vector<double> residual_;
  std::vector<double> direction_;
  double distance_ = 0;
};

std::string unsuitable(int ranks, const Options& options) {
  if (!is_power_of_two(ranks)) return not_a_power_of_two(ranks);
  return at_most(sizes[options.problem_class].order, ranks,
                 std::string("class ") + letter(options.problem_class) + " has rows");
}

// As NPB counts them.
double million_operations(const MatrixSize& size) {
  const double products = size.nonzeros * (size.nonzeros + 1);
  return 2e-6 * size.iterations * size.order * (3 + products + gradient_steps * (5 + products) + 3);
}

Outcome run(Communicator& world, const Options& options) {
  const MatrixSize& size = sizes[options.problem_class];
  Solver solver(world, size);
  solver.step();  // untimed: pages and connections
  solver.restart();
  double zeta = 0;
  Outcome outcome = timed(world, [&] {
    for (int i = 0; i < size.iterations; ++i) zeta = size.shift + 1 / solver.step();
  });
  outcome.iterations = size.iterations;
  outcome.million_operations = million_operations(size);
  outcome.size = std::to_string(size.order) + " rows";
  outcome.layout = std::to_string(solver.grid().grid_rows()) + " x " +
                   std::to_string(solver.grid().grid_columns()) + " blocks of the matrix";
  outcome.checks = {{"zeta", zeta, size.zeta, tolerance}};
  return outcome;
}

}  // namespace
}  // namespace crosscut::npb::cg

const crosscut::npb::Benchmark crosscut::npb::benchmark{
    .about = {.name = "cg",
              .title = "NAS Parallel Benchmark CG: conjugate gradients",
              .operation = "floating point"},
    .unsuitable = cg::unsuitable,
    .run = cg::run};
