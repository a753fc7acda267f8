#include "npb/ft/fft.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace crosscut::npb::ft {

RowTransform::RowTransform(std::size_t length)
    : length_(length), roots_(length / 2), from_(length * block), to_(length * block) {
  for (std::size_t k = 0; k < roots_.size(); ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    roots_[k] = {std::cos(angle), std::sin(angle)};
  }
}

void RowTransform::operator()(std::span<Complex> data, Direction direction) {
  for (std::size_t at = 0; at < data.size(); at += block * length_) {
    const auto rows = data.subspan(at, std::min(block * length_, data.size() - at));
    gather(rows, rows.size() / length_);
    transform(direction);
    scatter(rows, rows.size() / length_);
  }
}

void RowTransform::gather(std::span<const Complex> rows, std::size_t count) {
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t k = 0; k < length_; ++k) from_[k * block + row] = rows[row * length_ + k];
}

void RowTransform::scatter(std::span<Complex> rows, std::size_t count) const {
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t k = 0; k < length_; ++k) rows[row * length_ + k] = from_[k * block + row];
}

namespace {

// sum = a + b, difference = (a - b) * root, of `count` numbers.
void butterfly(const Complex* a, const Complex* b, Complex root, Complex* sum, Complex* difference,
               std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Complex first = a[i], second = b[i];
    sum[i] = first + second;
    difference[i] = (first - second) * root;
  }
}

}  // namespace

// Stockham's algorithm, radix 2, decimation in frequency: sorts as it goes.
void RowTransform::transform(Direction direction) {
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

}  // namespace crosscut::npb::ft
