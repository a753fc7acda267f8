// IS, integer sort (RNR-94-007, section 2.2.5): ten rankings of integer keys.
#include "npb/common/benchmark.hpp"
#include "npb/is/sorter.hpp"

namespace crosscut::npb::is {
namespace {

std::string unsuitable(int ranks, const Options& options) {
  if (!is_power_of_two(ranks)) return not_a_power_of_two(ranks);
  return at_most(1 << (key_sizes[options.problem_class].buckets_log2 - 2), ranks,
                 std::string("the buckets of class ") + letter(options.problem_class) + " are");
}

Outcome run(Communicator& world, const Options& options) {
  const KeySize& size = key_sizes[options.problem_class];
  Sorter sorter(world, size);
  sorter.rank_keys(1);  // untimed: pages and connections
  std::int64_t right = 0;
  Outcome outcome = timed(world, [&] {
    for (int iteration = 1; iteration <= sorting_iterations; ++iteration)
      right += sorter.rank_keys(iteration);
  });
  outcome.iterations = sorting_iterations;
  const std::int64_t out_of_order = sorter.keys_out_of_order();
  right = world.sum_at_root(right);
  outcome.million_operations =
      1e-6 * sorting_iterations * static_cast<double>(std::int64_t{1} << size.keys_log2);
  outcome.size =
      "2^" + std::to_string(size.keys_log2) + " keys below 2^" + std::to_string(size.largest_key_log2);
  outcome.checks = {{"right ranks of tested keys", static_cast<double>(right),
                     static_cast<double>(tested_keys * sorting_iterations), 0},
                    {"keys out of order", static_cast<double>(out_of_order), 0, 0}};
  return outcome;
}

}  // namespace
}  // namespace crosscut::npb::is

const crosscut::npb::Benchmark crosscut::npb::benchmark{
    .about = {.name = "is", .title = "NAS Parallel Benchmark IS: integer sort", .operation = "keys ranked"},
    .unsuitable = is::unsuitable,
    .run = is::run};
