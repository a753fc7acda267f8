// EP, "embarrassingly parallel" (RNR-94-007, section 2.2.1): pairs of normal deviates by acceptance and
// rejection, counted by square annuli. Ranks communicate only at the end, in three reductions.
//
// Verification values and tolerance: NPB 3.3, EP/ep.f.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "npb/common/benchmark.hpp"
#include "npb/common/random.hpp"

namespace crosscut::npb::ep {
namespace {

constexpr std::uint64_t seed = 271828183;
constexpr int batch_log2 = 16;  // pairs drawn at a time
constexpr std::int64_t batch_pairs = std::int64_t{1} << batch_log2;
constexpr std::size_t annuli = 10;
constexpr double tolerance = 1e-8;

struct Size {
  int pairs_log2;
  double sum_x, sum_y;
};

constexpr PerClass<Size> sizes{{{{24, -3.247834652034740e3, -6.958407078382297e3},
                                 {25, -2.863319731645753e3, -6.320053679109499e3},
                                 {28, -4.295875165629892e3, -1.580732573678431e4},
                                 {30, 4.033815542441498e4, -2.660669192809235e4},
                                 {32, 4.764367927995374e4, -8.084072988043731e4}}}};

struct Sums {
  double x = 0, y = 0;
  std::array<double, annuli> counts{};
};

std::int64_t batches(const Size& size) { return std::int64_t{1} << (size.pairs_log2 - batch_log2); }

void add_batch(std::int64_t batch, std::vector<double>& uniform, Sums& sums) {
  RandomStream random(seed, static_cast<std::uint64_t>(batch) * 2 * batch_pairs);
  for (double& value : uniform) value = 2 * random.next() - 1;
  for (std::size_t i = 0; i < uniform.size(); i += 2) {
    const double squares = uniform[i] * uniform[i] + uniform[i + 1] * uniform[i + 1];
    if (squares > 1) continue;
    const double scale = std::sqrt(-2 * std::log(squares) / squares);
    const double x = uniform[i] * scale;
    const double y = uniform[i + 1] * scale;
    sums.counts[static_cast<std::size_t>(std::max(std::abs(x), std::abs(y)))] += 1;
    sums.x += x;
    sums.y += y;
  }
}

std::string unsuitable(int ranks, const Options& options) {
  return at_most(batches(sizes[options.problem_class]), ranks,
                 std::string("class ") + letter(options.problem_class) + " has work");
}

Outcome run(Communicator& world, const Options& options) {
  const Size& size = sizes[options.problem_class];
  const std::int64_t all = batches(size);
  const std::int64_t first = all * world.rank() / world.size();
  const std::int64_t end = all * (world.rank() + 1) / world.size();
  std::vector<double> uniform(2 * static_cast<std::size_t>(batch_pairs), 0.0);
  Sums sums;
  Outcome outcome = timed(world, [&] {
    for (std::int64_t batch = first; batch < end; ++batch) add_batch(batch, uniform, sums);
    sums.x = world.sum(sums.x);
    sums.y = world.sum(sums.y);
    std::array<double, annuli> counts;  // of all ranks; timed, though nothing depends on it
    world.all_reduce(sums.counts, counts, MPI_SUM);
  });
  outcome.million_operations = std::ldexp(1e-6, size.pairs_log2 + 1);
  outcome.size = "2^" + std::to_string(size.pairs_log2) + " pairs of random numbers";
  outcome.checks = {{"sum of x", sums.x, size.sum_x, tolerance}, {"sum of y", sums.y, size.sum_y, tolerance}};
  return outcome;
}

}  // namespace
}  // namespace crosscut::npb::ep

const crosscut::npb::Benchmark crosscut::npb::benchmark{
    .about = {.name = "ep",
              .title = "NAS Parallel Benchmark EP: pairs of normal deviates",
              .operation = "random numbers"},
    .unsuitable = ep::unsuitable,
    .run = ep::run};
