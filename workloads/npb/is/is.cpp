// IS, integer sort (RNR-94-007, section 2.2.5): ten rankings of integer keys.
//
// NPB's MPI version shares the work as follows. Keys go into buckets, whose sizes are summed over all ranks.
// Each rank gets neighbouring buckets with about as many keys as it began with, and counts the keys of each
// value.
#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "npb/common/benchmark.hpp"
#include "npb/common/random.hpp"
#include "npb/is/key_size.hpp"

namespace crosscut::npb::is {
namespace {

constexpr std::uint64_t seed = 314159265;
constexpr int neighbour_tag = 1000;

// Each key is the sum of four numbers: a bell-shaped distribution (RNR-94-007, section 2.2.5).
std::vector<std::int32_t> draw_keys(const KeySize& size, int rank, int ranks) {
  const auto own = (std::size_t{1} << size.keys_log2) / static_cast<std::size_t>(ranks);
  RandomStream random(seed, 4 * own * static_cast<std::size_t>(rank));
  const auto quarter = static_cast<double>(std::int64_t{1} << size.largest_key_log2) / 4;
  std::vector<std::int32_t> keys(own);
  for (std::int32_t& key : keys) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += random.next();
    key = static_cast<std::int32_t>(quarter * sum);
  }
  return keys;
}

void offsets_from_counts(Parcels& parcels) {
  std::exclusive_scan(parcels.counts.begin(), parcels.counts.end(), parcels.offsets.begin(), 0);
}

class Sorter {
 public:
  Sorter(Communicator& world, const KeySize& size)
      : world_(world),
        size_(size),
        buckets_(std::size_t{1} << size.buckets_log2),
        keys_(draw_keys(size, world.rank(), world.size())),
        by_bucket_(keys_.size()),
        bucket_size_(buckets_ + tested_keys),
        bucket_total_(buckets_ + tested_keys) {
    const auto ranks = static_cast<std::size_t>(world.size());
    for (Parcels* parcels : {&sent_, &taken_}) {
      parcels->counts.resize(ranks);
      parcels->offsets.resize(ranks);
    }
  }

  // Changes two keys (rank 0), ranks all keys, and returns how many tested keys this rank ranked correctly.
  int rank_keys(int iteration) {
    if (world_.rank() == 0) {
      keys_[static_cast<std::size_t>(iteration)] = iteration;
      keys_[static_cast<std::size_t>(iteration) + sorting_iterations] =
          (1 << size_.largest_key_log2) - iteration;
    }
    count_buckets();
    sort_into_buckets();
    world_.all_reduce(bucket_size_, bucket_total_, MPI_SUM);
    share_out();
    exchange_keys();
    count_keys();
    return right_ranks(iteration);
  }

  // Sorts the keys. Returns, at rank 0, how many neighbouring keys are out of order over all ranks.
  std::int64_t keys_out_of_order() {
    std::vector<std::int32_t> sorted(received_.size());
    for (const std::int32_t key : received_)
      sorted[static_cast<std::size_t>(--counts_[static_cast<std::size_t>(key - lowest_key())])] = key;
    const int rank = world_.rank();
    std::int32_t before = 0;  // the previous rank's last key
    const std::int32_t last = sorted.empty() ? static_cast<std::int32_t>(lowest_key()) : sorted.back();
    world_.shift(std::span(&last, 1), rank + 1 < world_.size() ? std::optional(rank + 1) : std::nullopt,
                 std::span(&before, 1), rank > 0 ? std::optional(rank - 1) : std::nullopt, neighbour_tag);
    std::int64_t wrong = !sorted.empty() && before > sorted.front() ? 1 : 0;
    for (std::size_t i = 1; i < sorted.size(); ++i) wrong += sorted[i - 1] > sorted[i] ? 1 : 0;
    return world_.sum_at_root(wrong);
  }

 private:
  void count_buckets() {
    std::ranges::fill(bucket_size_, 0);
    for (std::size_t i = 0; i < tested_keys; ++i) {
      const auto index = static_cast<std::size_t>(size_.tested_index[i]);
      if (index / keys_.size() == static_cast<std::size_t>(world_.rank()))
        bucket_size_[buckets_ + i] = keys_[index % keys_.size()];
    }
    for (const std::int32_t key : keys_) ++bucket_size_[bucket_of(key)];
  }

  void sort_into_buckets() {
    std::vector<std::int32_t> next(buckets_);
    std::exclusive_scan(bucket_size_.begin(), bucket_size_.begin() + static_cast<std::ptrdiff_t>(buckets_),
                        next.begin(), 0);
    for (const std::int32_t key : keys_) by_bucket_[static_cast<std::size_t>(next[bucket_of(key)]++)] = key;
  }

  // Sets `sent_` and this rank's share from the buckets' sizes, here and over all ranks. A rank's buckets end
  // with the one in which the sum over all ranks reaches its share.
  void share_out() {
    std::ranges::fill(sent_.counts, 0);
    first_bucket_ = end_bucket_ = buckets_;
    lesser_keys_ = 0;
    const auto own = static_cast<std::int64_t>(keys_.size());
    std::int64_t keys_before = 0;
    for (std::size_t bucket = 0, rank = 0, first = 0; bucket < buckets_ && rank < sent_.counts.size();
         ++bucket) {
      if (bucket == first && rank == static_cast<std::size_t>(world_.rank())) {
        first_bucket_ = bucket;
        lesser_keys_ = keys_before;
      }
      keys_before += bucket_total_[bucket];
      sent_.counts[rank] += bucket_size_[bucket];
      if (keys_before < static_cast<std::int64_t>(rank + 1) * own) continue;
      if (rank == static_cast<std::size_t>(world_.rank())) end_bucket_ = bucket + 1;
      first = bucket + 1;
      ++rank;
    }
    offsets_from_counts(sent_);
  }

  void exchange_keys() {
    world_.all_to_all(sent_.counts, taken_.counts);
    offsets_from_counts(taken_);
    received_.resize(static_cast<std::size_t>(taken_.offsets.back()) +
                     static_cast<std::size_t>(taken_.counts.back()));
    world_.all_to_all(by_bucket_, sent_, received_, taken_);
  }

  void count_keys() {
    const std::int64_t lowest = lowest_key();
    counts_.assign(static_cast<std::size_t>(end_key() - lowest), 0);
    for (const std::int32_t key : received_) ++counts_[static_cast<std::size_t>(key - lowest)];
    std::inclusive_scan(counts_.begin(), counts_.end(), counts_.begin());
  }

  int right_ranks(int iteration) const {
    int right = 0;
    for (std::size_t i = 0; i < tested_keys; ++i) {
      const std::int64_t key = bucket_total_[buckets_ + i];
      if (key < lowest_key() || key >= end_key()) continue;
      const std::int64_t below =
          key > lowest_key() ? counts_[static_cast<std::size_t>(key - lowest_key() - 1)] : 0;
      if (lesser_keys_ + below == size_.expected_rank(i, iteration)) ++right;
    }
    return right;
  }

  int bucket_shift() const { return size_.largest_key_log2 - size_.buckets_log2; }
  std::size_t bucket_of(std::int32_t key) const { return static_cast<std::size_t>(key) >> bucket_shift(); }
  std::int64_t lowest_key() const { return static_cast<std::int64_t>(first_bucket_ << bucket_shift()); }
  std::int64_t end_key() const { return static_cast<std::int64_t>(end_bucket_ << bucket_shift()); }

  Communicator& world_;
  const KeySize& size_;
  std::size_t buckets_;
  std::vector<std::int32_t> keys_;         // in the order drawn
  std::vector<std::int32_t> by_bucket_;    // the same keys, ready to be sent
  std::vector<std::int32_t> received_;     // keys of this rank's buckets
  std::vector<std::int32_t> counts_;       // [key - lowest_key()] number of this rank's keys up to this one
  std::vector<std::int32_t> bucket_size_;  // here; then the tested keys, on the rank that drew them
  std::vector<std::int32_t> bucket_total_;
  Parcels sent_;
  Parcels taken_;
  std::size_t first_bucket_ = 0, end_bucket_ = 0;  // of this rank; the last is excluded
  std::int64_t lesser_keys_ = 0;                   // in buckets before this rank's
};

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
