#include "npb/is/sorter.hpp"

#include <algorithm>
#include <numeric>

#include "npb/common/random.hpp"

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

}  // namespace

Sorter::Sorter(Communicator& world, const KeySize& size)
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

std::int64_t Sorter::lowest_key() const {
  return static_cast<std::int64_t>(share_.first) << (size_.largest_key_log2 - size_.buckets_log2);
}

std::int64_t Sorter::end_key() const {
  return static_cast<std::int64_t>(share_.end) << (size_.largest_key_log2 - size_.buckets_log2);
}

int Sorter::rank_keys(int iteration) {
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

void Sorter::count_buckets() {
  std::ranges::fill(bucket_size_, 0);
  for (std::size_t i = 0; i < tested_keys; ++i) {
    const auto index = static_cast<std::size_t>(size_.tested_index[i]);
    if (index / keys_.size() == static_cast<std::size_t>(world_.rank()))
      bucket_size_[buckets_ + i] = keys_[index % keys_.size()];
  }
  for (const std::int32_t key : keys_) ++bucket_size_[bucket_of(key)];
}

void Sorter::sort_into_buckets() {
  std::vector<std::int32_t> next(buckets_);
  std::exclusive_scan(bucket_size_.begin(), bucket_size_.begin() + static_cast<std::ptrdiff_t>(buckets_),
                      next.begin(), 0);
  for (const std::int32_t key : keys_) by_bucket_[static_cast<std::size_t>(next[bucket_of(key)]++)] = key;
}

// A rank's buckets end with the one in which the sum over all ranks reaches its share.
void Sorter::share_out() {
  std::ranges::fill(sent_.counts, 0);
  share_ = {buckets_, buckets_};
  lesser_keys_ = 0;
  const auto own = static_cast<std::int64_t>(keys_.size());
  std::int64_t keys_before = 0;
  for (std::size_t bucket = 0, rank = 0, first = 0; bucket < buckets_ && rank < sent_.counts.size();
       ++bucket) {
    if (bucket == first && rank == static_cast<std::size_t>(world_.rank())) {
      share_.first = bucket;
      lesser_keys_ = keys_before;
    }
    keys_before += bucket_total_[bucket];
    sent_.counts[rank] += bucket_size_[bucket];
    if (keys_before < static_cast<std::int64_t>(rank + 1) * own) continue;
    if (rank == static_cast<std::size_t>(world_.rank())) share_.end = bucket + 1;
    first = bucket + 1;
    ++rank;
  }
  offsets_from_counts(sent_);
}

void Sorter::exchange_keys() {
  world_.all_to_all(sent_.counts, taken_.counts);
  offsets_from_counts(taken_);
  received_.resize(static_cast<std::size_t>(taken_.offsets.back()) +
                   static_cast<std::size_t>(taken_.counts.back()));
  world_.all_to_all(by_bucket_, sent_, received_, taken_);
}

void Sorter::count_keys() {
  const std::int64_t lowest = lowest_key();
  counts_.assign(static_cast<std::size_t>(end_key() - lowest), 0);
  for (const std::int32_t key : received_) ++counts_[static_cast<std::size_t>(key - lowest)];
  std::inclusive_scan(counts_.begin(), counts_.end(), counts_.begin());
}

int Sorter::right_ranks(int iteration) const {
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

std::int64_t Sorter::keys_out_of_order() {
  std::vector<std::int32_t> sorted(received_.size());
  for (const std::int32_t key : received_)
    sorted[static_cast<std::size_t>(--counts_[static_cast<std::size_t>(key - lowest_key())])] = key;
  const int rank = world_.rank();
  std::int32_t before = 0;  // the last key of the rank before
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank > 0) request = world_.receive_later(std::span(&before, 1), rank - 1, neighbour_tag);
  if (rank + 1 < world_.size()) {
    const std::int32_t last = sorted.empty() ? static_cast<std::int32_t>(lowest_key()) : sorted.back();
    world_.send(std::span(&last, 1), rank + 1, neighbour_tag);
  }
  if (rank > 0) world_.wait(request);
  std::int64_t wrong = !sorted.empty() && before > sorted.front() ? 1 : 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) wrong += sorted[i - 1] > sorted[i] ? 1 : 0;
  return world_.sum_at_root(wrong);
}

}  // namespace crosscut::npb::is
