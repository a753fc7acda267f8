// Random numbers that are the same on every rank and machine: splitmix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014). std::shuffle and the standard distributions differ between
// libraries, and two ranks that disagree about their partners would wait forever.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace crosscut {

// The finaliser of splitmix64.
constexpr std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mix_bits(state_ += 0x9e3779b97f4a7c15u); }

  // Returns a number uniform in 0 .. bound-1, without the bias of a plain remainder; bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t rejected = (0 - bound) % bound;  // 2^64 mod bound
    std::uint64_t drawn = next();
    while (drawn < rejected) drawn = next();
    return drawn % bound;
  }

  // Fisher-Yates shuffle.
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(i))]);
  }

 private:
  std::uint64_t state_;
};

// Returns an independent stream for each (seed, a, b): phase, round, rank.
inline Random random_stream(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0) {
  const std::uint64_t first = Random(seed).next();
  const std::uint64_t second = Random(first ^ a).next();
  return Random(Random(second ^ (b + 0x632be59bd9b4e019u)).next());
}

// Returns the indices below `count` in an order drawn from `seed`, or ascending for seed 0. The draw depends
// only on `name_of(index)`, the number that identifies an item, so a subset keeps the order of the whole.
template <typename NameOf>
std::vector<std::size_t> drawn_order(std::size_t count, std::uint64_t seed, NameOf name_of) {
  std::vector<std::pair<std::uint64_t, std::size_t>> keyed(count);
  for (std::size_t i = 0; i < count; ++i)
    keyed[i] = {seed == 0 ? 0 : random_stream(seed, name_of(i)).next(), i};
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::size_t> order;
  for (const auto& [key, index] : keyed) order.push_back(index);
  return order;
}

}  // namespace crosscut
