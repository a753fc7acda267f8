// Compares the published ranks of IS with keys drawn and ranked one by one.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "npb/common/random.hpp"
#include "npb/is/key_size.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::npb::is;

namespace {

// Draws each key from the mean of four numbers (RNR-94-007, section 2.2.5).
std::vector<std::int64_t> keys_of(const KeySize& size) {
  RandomStream random(314159265);
  std::vector<std::int64_t> keys(std::size_t{1} << size.keys_log2);
  for (std::int64_t& key : keys) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += random.next();
    key =
        static_cast<std::int64_t>(static_cast<double>(std::int64_t{1} << size.largest_key_log2) * (sum / 4));
  }
  return keys;
}

void change_two(std::vector<std::int64_t>& keys, const KeySize& size, int iteration) {
  keys[static_cast<std::size_t>(iteration)] = iteration;
  keys[static_cast<std::size_t>(iteration + sorting_iterations)] = (1 << size.largest_key_log2) - iteration;
}

void check_published_ranks(const KeySize& size) {
  std::vector<std::int64_t> keys = keys_of(size);
  for (int iteration = 1; iteration <= sorting_iterations; ++iteration) {
    change_two(keys, size, iteration);
    for (std::size_t i = 0; i < tested_keys; ++i) {
      const std::int64_t key = keys[static_cast<std::size_t>(size.tested_index[i])];
      const auto lesser = std::ranges::count_if(keys, [key](std::int64_t other) { return other < key; });
      CHECK_EQ(lesser, size.expected_rank(i, iteration));
    }
  }
}

}  // namespace

TEST(the_ranks_of_class_s_are_the_published_ones) { check_published_ranks(key_sizes[ProblemClass::S]); }

TEST(the_ranks_of_class_w_are_the_published_ones) { check_published_ranks(key_sizes[ProblemClass::W]); }
