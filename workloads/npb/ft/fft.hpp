// Discrete Fourier transforms of many rows at once, along the contiguous dimension.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "npb/common/communicator.hpp"

namespace crosscut::npb::ft {

enum class Direction { forward, backward };

// Transforms rows whose length is a power of two. Unscaled; forward is exp(+2 pi i ...), as in NPB.
class RowTransform {
 public:
  explicit RowTransform(std::size_t length)
      : length_(length), roots_(length), from_(length * block), to_(length * block) {
    for (std::size_t k = 0; k < roots_.size(); ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
      roots_[k] = {std::cos(angle), std::sin(angle)};
    }
  }

  // Transforms any number of rows, stored one after another in `data`.
  void operator()(std::span<Complex> data, Direction direction) {
    for (std::size_t at = 0; at < data.size(); at += block * length_) {
      const auto rows = data.subspan(at, std::min(block * length_, data.size() - at));
      for_each(rows, [](Complex& outside, double& real, double& imaginary) {
        real = outside.real;
        imaginary = outside.imaginary;
      });
      transform(direction);
      for_each(rows, [](Complex& outside, double& real, double& imaginary) { outside = {real, imaginary}; });
    }
  }

 private:
  // Number of rows transformed together, so that inner loops are contiguous whatever the stride. The arrays
  // of rows of 256 numbers take 64 KiB.
  static constexpr std::size_t block = 8;

  // Real and imaginary parts apart, so that processors handle several numbers at once. Element k of row r is
  // at k * block + r.
  struct Split {
    explicit Split(std::size_t size) : real(size), imaginary(size) {}
    std::vector<double> real, imaginary;
  };

  // Several complex numbers, one of each row.
  struct Numbers {
    using Lanes = double __attribute__((vector_size(16)));
    static constexpr std::size_t count = sizeof(Lanes) / sizeof(double);
    Lanes real, imaginary;

    static Numbers load(const Split& from, std::size_t at) {
      Numbers found;
      std::memcpy(&found.real, &from.real[at], sizeof found.real);
      std::memcpy(&found.imaginary, &from.imaginary[at], sizeof found.imaginary);
      return found;
    }
    void store(Split& to, std::size_t at) const {
      std::memcpy(&to.real[at], &real, sizeof real);
      std::memcpy(&to.imaginary[at], &imaginary, sizeof imaginary);
    }
    friend Numbers operator+(const Numbers& a, const Numbers& b) {
      return {a.real + b.real, a.imaginary + b.imaginary};
    }
    friend Numbers operator-(const Numbers& a, const Numbers& b) {
      return {a.real - b.real, a.imaginary - b.imaginary};
    }
    friend Numbers operator*(const Numbers& a, Complex b) {
      return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
    }
  };
  static_assert(block % Numbers::count == 0);

  // Calls visit(element of `rows`, its real and its imaginary part in `from_`), in tiles that fit the cache.
  template <typename Visit>
  void for_each(std::span<Complex> rows, Visit&& visit) {
    constexpr std::size_t tile = 16;
    for (std::size_t first = 0; first < length_; first += tile)
      for (std::size_t row = 0; row < rows.size() / length_; ++row)
        for (std::size_t k = first; k < std::min(first + tile, length_); ++k)
          visit(rows[row * length_ + k], from_.real[k * block + row], from_.imaginary[k * block + row]);
  }

  Complex root(std::size_t number, Direction direction) const {
    const Complex found = roots_[number];
    return direction == Direction::forward ? found : Complex{found.real, -found.imaginary};
  }

  // Stockham's algorithm, decimation in frequency: its output is in order. Radix 4, which reads and writes
  // all numbers half as often as radix 2, and one step of radix 2 if the length is no power of four.
  void transform(Direction direction) {
    std::size_t stride = 1;
    for (; 4 * stride <= length_; stride *= 4) {
      by_four(stride, direction);
      std::swap(from_, to_);
    }
    if (stride == length_) return;
    by_two(stride);
    std::swap(from_, to_);
  }

  // The last step: all roots are 1.
  void by_two(std::size_t stride) {
    const std::size_t run = stride * block;
    for (std::size_t i = 0; i < run; i += Numbers::count) {
      const auto a = Numbers::load(from_, i), b = Numbers::load(from_, i + run);
      (a + b).store(to_, i);
      (a - b).store(to_, i + run);
    }
  }

  void by_four(std::size_t stride, Direction direction) {
    const std::size_t quarter = length_ / 4, run = stride * block;
    const double turn = direction == Direction::forward ? 1 : -1;
    for (std::size_t group = 0; group < quarter / stride; ++group) {
      const std::size_t number = group * stride;
      const Complex once = root(number, direction), twice = root(2 * number, direction),
                    thrice = root(3 * number, direction);
      const std::size_t read = number * block, write = 4 * read, apart = quarter * block;
      for (std::size_t i = 0; i < run; i += Numbers::count) {
        const auto a = Numbers::load(from_, read + i), b = Numbers::load(from_, read + apart + i),
                   c = Numbers::load(from_, read + 2 * apart + i),
                   d = Numbers::load(from_, read + 3 * apart + i);
        const Numbers sum = a + c, other_sum = b + d, difference = a - c, other = b - d;
        const Numbers turned{-turn * other.imaginary, turn * other.real};  // by a quarter
        (sum + other_sum).store(to_, write + i);
        ((difference + turned) * once).store(to_, write + run + i);
        ((sum - other_sum) * twice).store(to_, write + 2 * run + i);
        ((difference - turned) * thrice).store(to_, write + 3 * run + i);
      }
    }
  }

  std::size_t length_;
  std::vector<Complex> roots_;  // exp(2 pi i k / length)
  Split from_, to_;
};

}  // namespace crosscut::npb::ft
