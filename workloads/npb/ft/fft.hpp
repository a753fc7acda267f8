// Discrete Fourier transforms of many rows at once, along the contiguous dimension.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"

namespace crosscut::npb::ft {

enum class Direction { forward, backward };

// Of rows of a power of two; unscaled, exp(+2 pi i ...) forward, as NPB has it.
class RowTransform {
 public:
  explicit RowTransform(std::size_t length);

  // Any number of rows, one after another in `data`.
  void operator()(std::span<Complex> data, Direction direction);

 private:
  // Rows that are transformed together, so that the inner loops are long and contiguous whatever the stride.
  static constexpr std::size_t block = 16;

  void gather(std::span<const Complex> rows, std::size_t count);
  void scatter(std::span<Complex> rows, std::size_t count) const;
  void transform(Direction direction);

  std::size_t length_;
  std::vector<Complex> roots_;  // exp(2 pi i k / length), k < length / 2
  std::vector<Complex> from_;   // element k of row r at k * block + r
  std::vector<Complex> to_;
};

}  // namespace crosscut::npb::ft
