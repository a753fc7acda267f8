// One rank's part of the sorting of IS (RNR-94-007, section 2.2.5), as NPB's MPI version shares the work:
// keys go into buckets, the buckets' sizes are summed over all ranks, neighbouring buckets with about as many
// keys as each rank began with are sent to one rank, and that rank counts the keys of each value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/is/key_size.hpp"

namespace crosscut::npb::is {

class Sorter {
 public:
  Sorter(Communicator& world, const KeySize& size);

  // Changes two keys (rank 0), ranks all keys, and returns how many of the tested keys' ranks this rank found
  // and found right.
  int rank_keys(int iteration);

  // Puts the keys in order; returns how many pairs of neighbours are out of order, of all ranks (at rank 0).
  std::int64_t keys_out_of_order();

 private:
  // A rank's buckets, from `first` up to but not including `end`.
  struct Share {
    std::size_t first = 0;
    std::size_t end = 0;
  };

  void count_buckets();
  void sort_into_buckets();
  // Sets `sent_` and `share_` from the buckets' sizes here and in all.
  void share_out();
  void exchange_keys();
  void count_keys();
  int right_ranks(int iteration) const;
  std::size_t bucket_of(std::int32_t key) const {
    return static_cast<std::size_t>(key) >> (size_.largest_key_log2 - size_.buckets_log2);
  }
  std::int64_t lowest_key() const;
  std::int64_t end_key() const;

  Communicator& world_;
  const KeySize& size_;
  std::size_t buckets_;
  std::vector<std::int32_t> keys_;         // as they were drawn
  std::vector<std::int32_t> by_bucket_;    // the same, ready to be sent
  std::vector<std::int32_t> received_;     // those of this rank's buckets
  std::vector<std::int32_t> counts_;       // of this rank's keys, at most this one: from lowest_key() on
  std::vector<std::int32_t> bucket_size_;  // here; then the tested keys, at the rank that drew them
  std::vector<std::int32_t> bucket_total_;
  Parcels sent_;
  Parcels taken_;
  Share share_;
  std::int64_t lesser_keys_ = 0;  // in buckets before ours
};

}  // namespace crosscut::npb::is
