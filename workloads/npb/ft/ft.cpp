// FT (RNR-94-007, section 2.2.4): a partial differential equation in three dimensions, solved by Fourier
// transforms. The first is a forward transform; each iteration then transforms the solution at a later time
// back.
//
// Sizes and checksums after each iteration: NPB 3.3, FT/ft.f, verify.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "npb/common/benchmark.hpp"
#include "npb/common/random.hpp"
#include "npb/ft/fft.hpp"
#include "npb/ft/layout.hpp"

namespace crosscut::npb::ft {
namespace {

constexpr std::uint64_t seed = 314159265;
constexpr double alpha = 1e-6;  // how fast waves decay
constexpr double tolerance = 1e-12;
constexpr std::size_t checked_points = 1024;

struct TransformSize {
  Extents points;
  std::span<const Complex> checksums;  // one per iteration
};

constexpr Complex checksums_s[] = {
    {5.546087004964e2, 4.845363331978e2}, {5.546385409189e2, 4.865304269511e2},
    {5.546148406171e2, 4.883910722336e2}, {5.545423607415e2, 4.901273169046e2},
    {5.544255039624e2, 4.917475857993e2}, {5.542683411902e2, 4.932597244941e2}};

constexpr Complex checksums_w[] = {
    {5.673612178944e2, 5.293246849175e2}, {5.631436885271e2, 5.282149986629e2},
    {5.594024089970e2, 5.270996558037e2}, {5.560698047020e2, 5.260027904925e2},
    {5.530898991250e2, 5.249400845633e2}, {5.504159734538e2, 5.239212247086e2}};

constexpr Complex checksums_a[] = {
    {5.046735008193e2, 5.114047905510e2}, {5.059412319734e2, 5.098809666433e2},
    {5.069376896287e2, 5.098144042213e2}, {5.077892868474e2, 5.101336130759e2},
    {5.085233095391e2, 5.104914655194e2}, {5.091487099959e2, 5.107917842803e2}};

constexpr Complex checksums_b[] = {
    {5.177643571579e2, 5.077803458597e2}, {5.154521291263e2, 5.088249431599e2},
    {5.146409228649e2, 5.096208912659e2}, {5.142378756213e2, 5.101023387619e2},
    {5.139626667737e2, 5.103976610617e2}, {5.137423460082e2, 5.105948019802e2},
    {5.135547056878e2, 5.107404165783e2}, {5.133910925466e2, 5.108576573661e2},
    {5.132470705390e2, 5.109577278523e2}, {5.131197729984e2, 5.110460304483e2},
    {5.130070319283e2, 5.111252433800e2}, {5.129070537032e2, 5.111968077718e2},
    {5.128182883502e2, 5.112616233064e2}, {5.127393733383e2, 5.113203605551e2},
    {5.126691062020e2, 5.113735928093e2}, {5.126064276004e2, 5.114218460548e2},
    {5.125504076570e2, 5.114656139760e2}, {5.125002331720e2, 5.115053595966e2},
    {5.124551951846e2, 5.115415130407e2}, {5.124146770029e2, 5.115744692211e2}};

constexpr Complex checksums_c[] = {
    {5.195078707457e2, 5.149019699238e2}, {5.155422171134e2, 5.127578201997e2},
    {5.144678022222e2, 5.122251847514e2}, {5.140150594328e2, 5.121090289018e2},
    {5.137550426810e2, 5.121143685824e2}, {5.135811056728e2, 5.121496764568e2},
    {5.134569343165e2, 5.121870921893e2}, {5.133651975661e2, 5.122193250322e2},
    {5.132955192805e2, 5.122454735794e2}, {5.132410471738e2, 5.122663649603e2},
    {5.131971141679e2, 5.122830879827e2}, {5.131605205716e2, 5.122965869718e2},
    {5.131290734194e2, 5.123075927445e2}, {5.131012720314e2, 5.123166486553e2},
    {5.130760908195e2, 5.123241541685e2}, {5.130528295923e2, 5.123304037599e2},
    {5.130310107773e2, 5.123356167976e2}, {5.130103090133e2, 5.123399592211e2},
    {5.129905029333e2, 5.123435588985e2}, {5.129714421109e2, 5.123465164008e2}};

constexpr PerClass<TransformSize> transform_sizes{{{{{64, 64, 64}, checksums_s},
                                                    {{128, 128, 32}, checksums_w},
                                                    {{256, 256, 128}, checksums_a},
                                                    {{512, 256, 256}, checksums_b},
                                                    {{512, 512, 512}, checksums_c}}}};

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

  // Computes the spectrum of the initial field, and how its waves decay in one iteration.
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

  // Advances by one iteration. Returns the checksum of the field at rank 0.
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

  // Returns a squared wave number of a dimension: 0, 1, 4, ..., and down again for the negative ones.
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
      const std::size_t y = 3 * j % ny - layout_.first_y1();  // at least y1() if another rank's
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

// Slabs while every rank gets a plane; otherwise as many ranks along y as planes (NPB 3.3, FT/ft.f, setup).
std::array<int, 2> chosen_grid(int ranks, const Options& options) {
  if (options.grid) return *options.grid;
  const int planes = static_cast<int>(transform_sizes[options.problem_class].points[2]);
  return ranks <= planes ? std::array{1, ranks} : std::array{planes, ranks / planes};
}

std::string unsuitable(int ranks, const Options& options) {
  if (!is_power_of_two(ranks)) return not_a_power_of_two(ranks);
  const Extents& points = transform_sizes[options.problem_class].points;
  const auto [along_y, along_z] = chosen_grid(ranks, options);
  if (static_cast<long long>(along_y) * along_z != ranks)
    return "--grid " + std::to_string(along_y) + "x" + std::to_string(along_z) + " needs " +
           std::to_string(static_cast<long long>(along_y) * along_z) + " ranks, not " + std::to_string(ranks);
  const int most_y = static_cast<int>(std::min(points[0], points[1]));
  const int most_z = static_cast<int>(std::min(points[1], points[2]));
  if (along_y <= most_y && along_z <= most_z) return "";
  return "a grid of " + product_text(along_y, along_z) + " ranks: class " + letter(options.problem_class) +
         " takes " + product_text(most_y, most_z) + " at most";
}

// As counted by NPB.
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
  const auto [nx, ny, nz] = size.points;
  outcome.size = product_text(nx, ny, nz) + " points";
  outcome.layout = product_text(grid[0], grid[1]) + (grid[0] == 1 ? " slabs" : " pencils");
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
