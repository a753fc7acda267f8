// How collective operations divide a rank's vector.
#pragma once

#include <cstdint>

#include "base/rank.hpp"

namespace crosscut::program {

// Part of the vector: the bytes of `count` of `parts` equal blocks, from block `first` on, cyclically.
struct Blocks {
  std::int64_t bytes, parts, first, count;

  std::int64_t offset() const { return edge(first % parts); }
  std::int64_t size() const {
    const std::int64_t from = first % parts, to = from + count;
    return to <= parts ? edge(to) - edge(from) : bytes - edge(from) + edge(to - parts);
  }
  // A cyclic range that passes the end lies at the start of the buffer.
  std::int64_t place() const { return first % parts + count <= parts ? offset() : 0; }

 private:
  std::int64_t edge(std::int64_t block) const {
    // Without overflow for any size and up to 2^31 blocks.
    return bytes / parts * block + bytes % parts * block / parts;
  }
};

// The block of an all-to-all of unequal blocks that goes to the rank `distance` ranks on, or comes from the
// one as far behind: of P (P + 1) / 2 equal parts of the vector it has distance + 1, so that the largest
// block is nearly twice the mean.
inline Blocks uneven_block(std::int64_t bytes, Rank ranks, Rank distance) {
  const auto sum = [](std::int64_t count) { return count * (count + 1) / 2; };
  return {bytes, sum(ranks), sum(distance), distance + 1};
}

}  // namespace crosscut::program
