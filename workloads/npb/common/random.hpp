// The pseudorandom numbers of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007, section 2.3):
// x(k+1) = a x(k) mod 2^46 with a = 5^13; the numbers used are x(k) / 2^46.
//
// The report computes the product in halves of 23 bits, in doubles. Products of 64-bit unsigned integers are
// exact modulo 2^64, hence modulo 2^46: this gives the same numbers, faster.
#pragma once

#include <cstdint>

namespace crosscut::npb {

class RandomStream {
 public:
  static constexpr std::uint64_t mask = (std::uint64_t{1} << 46) - 1;
  static constexpr std::uint64_t multiplier = 1220703125;  // 5^13

  // The next number drawn is number `position`, counted from 0, of the stream that `seed` begins.
  constexpr explicit RandomStream(std::uint64_t seed, std::uint64_t position = 0)
      : state_((seed * power(position)) & mask) {}

  // Returns a number in (0, 1).
  constexpr double next() {
    state_ = (state_ * multiplier) & mask;
    return static_cast<double>(state_) * 0x1p-46;
  }

  // Returns multiplier^exponent mod 2^46, which advances by `exponent` steps at once.
  static constexpr std::uint64_t power(std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (std::uint64_t square = multiplier; exponent > 0; exponent >>= 1) {
      if (exponent & 1) result = (result * square) & mask;
      square = (square * square) & mask;
    }
    return result;
  }

 private:
  std::uint64_t state_;
};

// Spreads a number over all bits: the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014).
constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace crosscut::npb
