// Quantiles of times, from counts in buckets instead of the times themselves: accurate to 1/16 of the value.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace crosscut::user_switch {

class SpreadCounter {
 public:
  void add(std::int64_t nanoseconds, std::int64_t times = 1) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 0));
    counts_[bucket(value)] += times;
    total_ += times;
    largest_ = std::max(largest_, value);
  }

  std::int64_t count() const { return total_; }
  double largest_seconds() const { return static_cast<double>(largest_) * 1e-9; }
  // Returns the upper end of the quantile's bucket, but never more than the largest value.
  double quantile_seconds(double share) const {
    const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(total_)));
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= std::max<std::int64_t>(rank, 1))
        return static_cast<double>(std::min(end_of(i), largest_)) * 1e-9;
    }
    return 0;
  }

 private:
  static constexpr unsigned parts_log2 = 4;
  static constexpr std::uint64_t parts = 1u << parts_log2;

  static std::size_t bucket(std::uint64_t value) {
    if (value < parts) return value;
    const auto octave = static_cast<unsigned>(std::bit_width(value)) - 1 - parts_log2;
    return static_cast<std::size_t>((octave + 1) * parts + ((value >> octave) - parts));
  }
  static std::uint64_t end_of(std::size_t bucket) {
    if (bucket < parts) return bucket;
    const auto octave = bucket / parts - 1;
    return ((parts + bucket % parts + 1) << octave) - 1;
  }

  std::array<std::int64_t, (64 - parts_log2 + 1) * parts> counts_{};
  std::int64_t total_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace crosscut::user_switch
