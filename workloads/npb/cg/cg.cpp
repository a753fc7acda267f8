// CG (RNR-94-007, section 2.2.3): the largest eigenvalue of a sparse matrix by inverse iteration. Each step
// is solved by 25 steps of conjugate gradients.
//
// Sizes, verification values and tolerance: NPB 3.3, CG/cg.f.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <ranges>
#include <span>
#include <vector>

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

constexpr int exchange_tag = 1;

// Returns part `index` of `parts`, as even as possible, the larger parts first.
Range part_of(Range whole, std::int32_t parts, std::int32_t index) {
  const auto size = static_cast<std::int32_t>(whole.size());
  const std::int32_t each = size / parts, larger = size % parts;
  const std::int32_t first = whole.first + index * each + std::min(index, larger);
  return {first, first + each + (index < larger ? 1 : 0)};
}

// The two-dimensional grid of ranks of CG, and its messages, as in NPB's MPI version (NPB 3.3, CG/cg.f,
// setup_submatrix_info and conj_grad): as many columns as rows, or twice as many. A rank has a block of the
// matrix and the part of each vector that belongs to its columns; the ranks of one row of the grid together
// hold a whole vector.
class ProcessorGrid {
 public:
  ProcessorGrid(Communicator& world, std::int32_t order) : world_(world) {
    const int size_log2 = std::countr_zero(static_cast<unsigned>(world.size()));
    grid_columns_ = 1 << ((size_log2 + 1) / 2);
    grid_rows_ = world.size() / grid_columns_;
    // With twice as many columns as rows, two columns of the grid split a part as long as that of one row.
    const int sharing = grid_columns_ / grid_rows_;
    const int half = world.rank() % sharing, row = world.rank() / sharing / grid_rows_,
              column = world.rank() / sharing % grid_rows_;
    rows_ = part_of({0, order}, grid_rows_, row);
    columns_ = part_of(part_of({0, order}, grid_rows_, column), sharing, half);
    transposed_rank_ = sharing * (column * grid_rows_ + row) + half;
    const Range all{0, static_cast<std::int32_t>(rows_.size())};
    kept_ = part_of(all, sharing, half);
    for (int step = grid_columns_ / 2; step > 0; step /= 2) partners_.push_back({world.rank() ^ step, kept_});
    // Neighbours that keep different halves send each other the half that they do not keep. All other
    // partners sum the slices that they keep.
    if (sharing == 2) partners_.back().sent = part_of(all, 2, 1 - half);
  }

  int grid_rows() const { return grid_rows_; }
  int grid_columns() const { return grid_columns_; }
  Range rows() const { return rows_; }
  Range columns() const { return columns_; }

  // Turns `partial`, this block's share of a product (by row; overwritten), into the part of the sum that
  // belongs to this rank's columns: sums along the row of the grid, then exchanges with the transposed rank.
  // `result` must have room for as many elements as there are rows or columns here.
  void sum_and_transpose(std::span<double> partial, std::span<double> result) {
    const std::span<double> kept = slice(partial, kept_);
    for (const Partner& partner : std::views::reverse(partners_)) {
      const std::span<double> taken = result.first(kept.size());
      world_.shift(slice(partial, partner.sent), partner.rank, taken, partner.rank, exchange_tag);
      for (std::size_t i = 0; i < taken.size(); ++i) kept[i] += taken[i];
    }
    if (partners_.empty())
      std::ranges::copy(kept, result.begin());
    else
      world_.shift(kept, transposed_rank_, result.first(columns_.size()), transposed_rank_, exchange_tag);
  }

  // Sums along the row of the grid, hence over a whole vector, in log2(columns) exchanges.
  template <std::size_t count>
  std::array<double, count> sum(std::array<double, count> values) {
    std::array<double, count> theirs{};
    for (const Partner& partner : partners_) {
      world_.shift(values, partner.rank, theirs, partner.rank, exchange_tag);
      for (std::size_t i = 0; i < count; ++i) values[i] += theirs[i];
    }
    return values;
  }

 private:
  struct Partner {
    int rank = 0;
    Range sent{};  // part of the partial sums
  };

  static std::span<double> slice(std::span<double> values, Range range) {
    return values.subspan(static_cast<std::size_t>(range.first), range.size());
  }

  Communicator& world_;
  int grid_rows_ = 1;
  int grid_columns_ = 1;
  Range rows_;
  Range columns_;
  Range kept_;                     // rows whose sums end here, before the transposition
  std::vector<Partner> partners_;  // in the order of scalar sums; vectors are summed in reverse order
  int transposed_rank_ = 0;
};

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

  // Does one step of inverse iteration: returns x.z, where z solves A z = x, and scales x to z / |z|.
  double step() {
    solve();
    const auto [xz, zz] = grid_.sum(std::array{product(x_, z_), product(z_, z_)});
    const double scale = 1 / std::sqrt(zz);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = scale * z_[i];
    return xz;
  }

  const ProcessorGrid& grid() const { return grid_; }

 private:
  // Computes image_ = A v.
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
    // |x - A z|^2: timed (RNR-94-007, section 2.2.3), though nothing depends on it.
    const auto image = apply(z_);
    for (std::size_t i = 0; i < z_.size(); ++i) residual_[i] = x_[i] - image[i];
    sum_product(residual_, residual_);
  }

  ProcessorGrid grid_;
  SparseMatrix matrix_;
  std::vector<double> partial_;
  std::vector<double> image_;
  std::vector<double> x_;
  std::vector<double> z_;
  std::vector<double> residual_;
  std::vector<double> direction_;
};

std::string unsuitable(int ranks, const Options& options) {
  if (!is_power_of_two(ranks)) return not_a_power_of_two(ranks);
  return at_most(sizes[options.problem_class].order, ranks,
                 std::string("class ") + letter(options.problem_class) + " has rows");
}

// As counted by NPB.
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
  outcome.layout =
      product_text(solver.grid().grid_rows(), solver.grid().grid_columns()) + " blocks of the matrix";
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
