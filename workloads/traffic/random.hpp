// Random numbers determined by their purpose, not by how many were drawn before: the same on every rank.
#pragma once

#include <cstdint>

#include "npb/common/random.hpp"

namespace crosscut::traffic {

using npb::mix;

enum class Purpose : std::uint64_t {
  position_x,
  position_y,
  road,
  origin,
  zone,
  destination,
  departure,
  capacity,
  turn
};

class Random {
 public:
  constexpr explicit Random(std::uint64_t seed) : seed_(mix(seed)) {}

  // Returns a number below `bound`, which must be below 2^32. It depends only on the arguments and the seed.
  constexpr std::int64_t below(std::int64_t bound, Purpose purpose, std::int64_t first,
                               std::int64_t second = 0) const {
    const std::uint64_t which = mix(seed_ ^ static_cast<std::uint64_t>(purpose));
    const std::uint64_t drawn =
        mix(mix(which ^ static_cast<std::uint64_t>(first)) ^ static_cast<std::uint64_t>(second));
    return static_cast<std::int64_t>(((drawn >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }

 private:
  std::uint64_t seed_;
};

}  // namespace crosscut::traffic
