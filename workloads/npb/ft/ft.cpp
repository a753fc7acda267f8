// FT (RNR-94-007, section 2.2.4): a partial differential equation in three dimensions, solved by Fourier
// transforms. One forward, then in each iteration the solution at a later time, transformed back.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "npb/common/benchmark.hpp"
#include "npb/common/random.hpp"
#include "npb/ft/fft.hpp"
#include "npb/ft/layout.hpp"
#include "npb/ft/transform_size.hpp"

namespace crosscut::npb::ft {
namespace {

constexpr std::uint64_t seed = 314159265;
constexpr double alpha = 1e-6;  // how fast waves fade
constexpr double tolerance = 1e-12;
constexpr std::size_t checked_points = 1024;

double elements(const Extents& points) {
  return static_cast<double>(points[0]) * static_cast<double>(points[1]) * static_cast<double>(points[2]);
}

class Solver {
 public:
  Solver(Communicator& world, const TransformSize& size, std::array<int, 2> grid)
      : world_(world),
        layout_(world, size.points, grid),
        along_x_(size.points[0]),
        along_y_(size.points[1]),
        along_z_(size.points[2]),
        spectrum_(layout_.local_elements()),
        field_(spectrum_.size()),
        scratch_(spectrum_.size()),
        fading_(spectrum_.size()) {}

  // The spectrum of the initial field, and how its waves fade in one iteration.
  void start() {
    set_fading();
    draw_field();
    along_x_(field_, Direction::forward);
    layout_.turn(layout_.x_to_y(), field_, scratch_);
    along_y_(field_, Direction::forward);
    layout_.turn(layout_.y_to_z(), field_, scratch_);
    along_z_(field_, Direction::forward);
    spectrum_.swap(field_);
  }

  // The checksum of the field after one more iteration, at rank 0.
  Complex step() {
    for (std::size_t i = 0; i < spectrum_.size(); ++i) {
      spectrum_[i].real *= fading_[i];
      spectrum_[i].imaginary *= fading_[i];
      field_[i] = spectrum_[i];
    }
    along_z_(field_, Direction::backward);
    layout_.turn_back(layout_.y_to_z(), field_, scratch_);
    along_y_(field_, Direction::backward);
    layout_.turn_back(layout_.x_to_y(), field_, scratch_);
    along_x_(field_, Direction::backward);
    return checksum();
  }

 private:
  void draw_field() {
    const auto [nx, ny, nz] = layout_.whole();
    auto out = field_.begin();
    for (std::size_t z = 0; z < layout_.z2(); ++z) {
      RandomStream random(seed, 2 * nx * (ny * (layout_.first_z2() + z) + layout_.first_y1()));
      for (std::size_t i = 0; i < nx * layout_.y1(); ++i) {
        const double real = random.next();
        *out++ = {real, random.next()};
      }
    }
  }

  // Squared wave numbers of a dimension: 0, 1, 4, ..., and down again for the negative ones.
  static double squared_wave_number(std::size_t index, std::size_t points) {
    const auto number = static_cast<double>(std::min(index, points - index));
    return number * number;
  }

  void set_fading() {
    const auto [nx, ny, nz] = layout_.whole();
    auto out = fading_.begin();
    for (std::size_t y = 0; y < layout_.y2(); ++y)
      for (std::size_t x = 0; x < layout_.x1(); ++x) {
        const double across =
            squared_wave_number(layout_.first_y2() + y, ny) + squared_wave_number(layout_.first_x1() + x, nx);
        for (std::size_t z = 0; z < nz; ++z)
          *out++ = std::exp(-4 * alpha * std::numbers::pi * std::numbers::pi *
                            (across + squared_wave_number(z, nz)));
      }
  }

  Complex checksum() {
    const auto [nx, ny, nz] = layout_.whole();
    Complex sum{};
    for (std::size_t j = 1; j <= checked_points; ++j) {
      const std::size_t y = 3 * j % ny - layout_.first_y1();  // beyond y1() where it is another rank's
      const std::size_t z = 5 * j % nz - layout_.first_z2();
      if (y < layout_.y1() && z < layout_.z2()) sum = sum + field_[(z * layout_.y1() + y) * nx + j % nx];
    }
    const double scale = 1 / elements(layout_.whole());
    return world_.sum_at_root(Complex{scale * sum.real, scale * sum.imaginary});
  }

  Communicator& world_;
  Layout layout_;
  RowTransform along_x_, along_y_, along_z_;
  std::vector<Complex> spectrum_;  // in z_rows
  std::vector<Complex> field_;
  std::vector<Complex> scratch_;
  std::vector<double> fading_;  // in z_rows
};

// Slabs while every rank gets a plane; else as many ranks along y as there are planes (NPB 3.3, FT/ft.f,
// setup).
std::array<int, 2> chosen_grid(int ranks, const Options& options) {
  if (options.grid) return *options.grid;
  const int planes = static_cast<int>(transform_sizes[options.problem_class].points[2]);
  return ranks <= planes ? std::array{1, ranks} : std::array{planes, ranks / planes};
}

std::string named(std::array<int, 2> grid) {
  return std::to_string(grid[0]) + " x " + std::to_string(grid[1]);
}

std::string unsuitable(int ranks, const Options& options) {
  if (!is_power_of_two(ranks)) return not_a_power_of_two(ranks);
  const Extents& points = transform_sizes[options.problem_class].points;
  const auto [along_y, along_z] = chosen_grid(ranks, options);
  if (static_cast<long long>(along_y) * along_z != ranks)
    return "--grid " + std::to_string(along_y) + "x" + std::to_string(along_z) + " is not for " +
           std::to_string(ranks) + " ranks";
  const int most_y = static_cast<int>(std::min(points[0], points[1]));
  const int most_z = static_cast<int>(std::min(points[1], points[2]));
  if (along_y <= most_y && along_z <= most_z) return "";
  return "a grid of " + named({along_y, along_z}) + " ranks: class " + letter(options.problem_class) +
         " takes " + named({most_y, most_z}) + " at most";
}

// As NPB counts them.
double million_operations(const TransformSize& size) {
  const double all = elements(size.points);
  const double log = std::log(all);
  return 1e-6 * all *
         (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * static_cast<double>(size.checksums.size()));
}

Outcome run(Communicator& world, const Options& options) {
  const TransformSize& size = transform_sizes[options.problem_class];
  const std::array<int, 2> grid = chosen_grid(world.size(), options);
  Solver solver(world, size, grid);
  solver.start();  // untimed: pages and connections
  std::vector<Complex> checksums(size.checksums.size());
  Outcome outcome = timed(world, [&] {
    solver.start();
    for (Complex& checksum : checksums) checksum = solver.step();
  });
  outcome.iterations = static_cast<int>(checksums.size());
  for (std::size_t i = 0; i < checksums.size(); ++i) {
    const std::string name = "checksum " + std::to_string(i + 1);
    outcome.checks.push_back({name + ", real", checksums[i].real, size.checksums[i].real, tolerance});
    outcome.checks.push_back(
        {name + ", imaginary", checksums[i].imaginary, size.checksums[i].imaginary, tolerance});
  }
  outcome.million_operations = million_operations(size);
  outcome.size = std::to_string(size.points[0]) + " x " + std::to_string(size.points[1]) + " x " +
                 std::to_string(size.points[2]) + " points";
  outcome.layout = named(grid) + (grid[0] == 1 ? " slabs" : " pencils");
  return outcome;
}

}  // namespace
}  // namespace crosscut::npb::ft

const crosscut::npb::Benchmark crosscut::npb::benchmark{
    .about = {.name = "ft",
              .title = "NAS Parallel Benchmark FT: Fourier transforms in three dimensions",
              .operation = "floating point"},
    .takes_grid = true,
    .unsuitable = ft::unsuitable,
    .run = ft::run};
