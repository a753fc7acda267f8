// The classes of IS: number and size of keys, and the ranks of five of them in every iteration.
//
// Sizes and test values: NPB 3.4, IS/is.c (S_test_index_array and so on; the changes by iteration in rank()).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "npb/common/problem_class.hpp"

namespace crosscut::npb::is {

inline constexpr int sorting_iterations = 10;
inline constexpr std::size_t tested_keys = 5;

struct KeySize {
  int keys_log2;
  int largest_key_log2;  // keys are below 2^this
  int buckets_log2;
  std::array<std::int64_t, tested_keys> tested_index;
  std::array<std::int64_t, tested_keys> tested_rank;
  // In iteration t, tested key i has rank tested_rank + t - lag_rising if it rises, otherwise tested_rank - t
  // + lag_falling.
  std::array<bool, tested_keys> rises;
  int lag_rising;
  int lag_falling;

  std::int64_t expected_rank(std::size_t key, int iteration) const {
    return rises[key] ? tested_rank[key] + iteration - lag_rising
                      : tested_rank[key] - iteration + lag_falling;
  }
};

inline constexpr PerClass<KeySize> key_sizes{{{
    {.keys_log2 = 16,
     .largest_key_log2 = 11,
     .buckets_log2 = 9,
     .tested_index = {48427, 17148, 23627, 62548, 4431},
     .tested_rank = {0, 18, 346, 64917, 65463},
     .rises = {true, true, true, false, false},
     .lag_rising = 0,
     .lag_falling = 0},
    {.keys_log2 = 20,
     .largest_key_log2 = 16,
     .buckets_log2 = 10,
     .tested_index = {357773, 934767, 875723, 898999, 404505},
     .tested_rank = {1249, 11698, 1039987, 1043896, 1048018},
     .rises = {true, true, false, false, false},
     .lag_rising = 2,
     .lag_falling = 0},
    {.keys_log2 = 23,
     .largest_key_log2 = 19,
     .buckets_log2 = 10,
     .tested_index = {2112377, 662041, 5336171, 3642833, 4250760},
     .tested_rank = {104, 17523, 123928, 8288932, 8388264},
     .rises = {true, true, true, false, false},
     .lag_rising = 1,
     .lag_falling = 1},
    {.keys_log2 = 25,
     .largest_key_log2 = 21,
     .buckets_log2 = 10,
     .tested_index = {41869, 812306, 5102857, 18232239, 26860214},
     .tested_rank = {33422937, 10244, 59149, 33135281, 99},
     .rises = {false, true, true, false, true},
     .lag_rising = 0,
     .lag_falling = 0},
    {.keys_log2 = 27,
     .largest_key_log2 = 23,
     .buckets_log2 = 10,
     .tested_index = {44172927, 72999161, 74326391, 129606274, 21736814},
     .tested_rank = {61147, 882988, 266290, 133997595, 133525895},
     .rises = {true, true, true, false, false},
     .lag_rising = 0,
     .lag_falling = 0},
}}};

}  // namespace crosscut::npb::is
