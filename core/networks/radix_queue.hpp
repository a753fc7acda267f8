// A priority queue whose keys never fall below the last one taken: a radix heap (Ahuja, Mehlhorn, Orlin,
// Tarjan: Faster Algorithms for the Shortest Path Problem, JACM 37, 1990). Progressive filling satisfies
// this: shares only grow. Equal keys, common in networks of equal links, lie in one bucket and cost nothing
// to keep in order.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace crosscut::networks {

// Progressive filling with such a queue of capacities.
class RadixQueue {
 public:
  // Calls `fix(item, share)` for each item that still has uses, in order of increasing shares. `least`: the
  // least of their shares. A share that rounding has lowered slightly counts as unchanged.
  template <typename Items, typename Uses, typename Share, typename Fix>
  void fill(const Items& items, double least, const Uses& uses, const Share& share_of, const Fix& fix) {
    start(key_of(least));
    for (const std::int32_t item : items)
      if (uses(item) > 0) push({key_of(share_of(item)), item});
    const auto refresh = [&](std::int32_t item, std::uint64_t key) {
      if (uses(item) == 0) return dropped;
      const double share = share_of(item);
      return share > value_of(key) ? key_of(share) : key;
    };
    for (Entry entry; pop(entry, refresh);) {
      const auto key = refresh(entry.item, entry.key);
      if (key == dropped) continue;
      if (key == entry.key) {
        fix(entry.item, value_of(key));
      } else {
        push({key, entry.item});
      }
    }
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::int32_t item = 0;
  };
  static constexpr std::uint64_t dropped = ~std::uint64_t{0};

  // Non-negative doubles have the same order as their bits.
  static std::uint64_t key_of(double value) { return std::bit_cast<std::uint64_t>(value); }
  static double value_of(std::uint64_t key) { return std::bit_cast<double>(key); }

  // Empties the queue. Keys pushed later are at least `least`.
  void start(std::uint64_t least) {
    for (auto& bucket : buckets_) bucket.clear();
    used_ = 0;
    last_ = least;
  }

  void push(Entry entry) {
    const auto bucket = bucket_of(entry.key);
    buckets_[bucket].push_back(entry);
    if (bucket > 0) used_ |= std::uint64_t{1} << (bucket - 1);
  }

  // Takes an entry with the smallest key; returns false if none is left. `refresh(item, key)` returns an
  // item's current key (at least `key`), or `dropped`; it is called whenever an entry would be moved.
  template <typename Refresh>
  bool pop(Entry& taken, const Refresh& refresh) {
    while (buckets_[0].empty()) {
      if (used_ == 0) return false;
      move_lowest(refresh);
    }
    taken = buckets_[0].back();
    buckets_[0].pop_back();
    return true;
  }

  // Returns 0 for the last key taken, else one more than the highest bit in which the key differs from it.
  std::size_t bucket_of(std::uint64_t key) const {
    return 64u - static_cast<unsigned>(std::countl_zero(key ^ last_));
  }

  template <typename Refresh>
  void move_lowest(const Refresh& refresh) {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(used_)) + 1;
    used_ &= used_ - 1;
    moving_.clear();
    moving_.swap(buckets_[lowest]);
    std::uint64_t least = dropped;
    std::size_t staying = 0;
    for (auto& entry : moving_) {
      entry.key = refresh(entry.item, entry.key);
      if (entry.key == dropped) continue;
      if (bucket_of(entry.key) != lowest) {  // beyond this bucket's range
        push(entry);
        continue;
      }
      least = entry.key < least ? entry.key : least;
      moving_[staying++] = entry;
    }
    moving_.resize(staying);
    if (staying == 0) return;
    last_ = least;
    for (const auto& entry : moving_) push(entry);
  }

  std::array<std::vector<Entry>, 65> buckets_;
  std::vector<Entry> moving_;
  std::uint64_t used_ = 0;  // bit i: bucket i + 1 may hold something
  std::uint64_t last_ = 0;
};

}  // namespace crosscut::networks
