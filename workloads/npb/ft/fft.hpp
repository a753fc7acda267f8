// Discrete Fourier transforms of many rows at once, along the contiguous dimension.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"

namespace crosscut::npb::ft {

enum class Direction { forward, backward };

// Transforms rows whose length is a power of two. Unscaled; forward is exp(+2 pi i ...), as in NPB.
class RowTransform {
 public:
  explicit RowTransform(std::size_t length)
      : length_(length), roots_(length / 2), from_(length * block), to_(length * block) {
    for (std::size_t k = 0; k < roots_.size(); ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
      roots_[k] = {std::cos(angle), std::sin(angle)};
    }
  }

  // Transforms any number of rows, stored one after another in `data`.
  void operator()(std::span<Complex> data, Direction direction) {
    for (std::size_t at = 0; at < data.size(); at += block * length_) {
      const auto rows = data.subspan(at, std::min(block * length_, data.size() - at));
      for_each(rows, [](Complex& outside, Complex& inside) { inside = outside; });
      transform(direction);
      for_each(rows, [](Complex& outside, Complex& inside) { outside = inside; });
    }
  }

 private:
  // Number of rows transformed together, so that inner loops are long and contiguous whatever the stride.
  static constexpr std::size_t block = 16;

  // Calls visit(element of `rows`, the same element in `from_`).
  template <typename Visit>
  void for_each(std::span<Complex> rows, Visit&& visit) {
    for (std::size_t row = 0; row < rows.size() / length_; ++row)
      for (std::size_t k = 0; k < length_; ++k) visit(rows[row * length_ + k], from_[k * block + row]);
  }

  // Computes sum = a + b and difference = (a - b) * root for `count` numbers.
  static void butterfly(const Complex* a, const Complex* b, Complex root, Complex* sum, Complex* difference,
                        std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Complex first = a[i], second = b[i];
      sum[i] = first + second;
      difference[i] = (first - second) * root;
    }
  }

  // Stockham's algorithm, radix 2, decimation in frequency: its output is in order.
  void transform(Direction direction) {
    const std::size_t half = length_ / 2;
    for (std::size_t groups = half, stride = 1; groups >= 1; groups /= 2, stride *= 2) {
      const std::size_t run = stride * block;
      for (std::size_t group = 0; group < groups; ++group) {
        Complex root = roots_[group * stride];
        if (direction == Direction::backward) root.imaginary = -root.imaginary;
        butterfly(&from_[group * run], &from_[(group * stride + half) * block], root, &to_[2 * group * run],
                  &to_[(2 * group + 1) * run], run);
      }
      from_.swap(to_);
    }
  }

  std::size_t length_;
  std::vector<Complex> roots_;  // exp(2 pi i k / length), k < length / 2
  std::vector<Complex> from_;   // element k of row r at k * block + r
  std::vector<Complex> to_;
};

}  // namespace crosscut::npb::ft
