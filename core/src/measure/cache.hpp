// Messages in the processor's caches, or out of them, when a phase starts. A host copies cached messages
// faster, and programs send both: what they have just computed, and what they have not touched for long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

namespace crosscut::measure {

// warm: the same buffers again and again. rotate: each iteration takes the next of many buffers, which
// together are twice as large as the last-level cache. cold: the caches are filled with other data before
// each phase.
enum class CacheState : std::uint8_t { warm, rotate, cold };

// Divides a buffer into copies of what a phase needs, and says which copy an iteration takes.
class Rotation {
 public:
  Rotation() = default;
  // `needed`: bytes of one copy; `whole`: bytes that all of them have to exceed.
  Rotation(std::size_t needed, std::size_t whole)
      : stride_((needed + line - 1) / line * line),
        copies_(std::max<std::size_t>(1, (whole + stride_ - 1) / stride_)) {}

  std::size_t bytes() const { return copies_ * stride_; }
  // Returns the bytes from the first copy to that of this iteration, counted from any start.
  std::ptrdiff_t shift(std::size_t iteration) const {
    return static_cast<std::ptrdiff_t>(iteration % copies_ * stride_);
  }

 private:
  static constexpr std::size_t line = 64;
  std::size_t stride_ = line, copies_ = 1;
};

// Fills the caches with memory of its own.
class Eviction {
 public:
  explicit Eviction(std::size_t bytes) : words_(bytes / sizeof(std::uint64_t), 1) {}
  void run() {
    for (auto& word : words_) ++word;
    sink_ = std::accumulate(words_.begin(), words_.end(), std::uint64_t{0});
  }

 private:
  std::vector<std::uint64_t> words_;
  volatile std::uint64_t sink_ = 0;
};

inline CacheState cache_state(std::string_view word) {
  return word == "rotate" ? CacheState::rotate : word == "cold" ? CacheState::cold : CacheState::warm;
}

}  // namespace crosscut::measure
