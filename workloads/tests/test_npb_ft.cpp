#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "npb/common/random.hpp"
#include "npb/ft/fft.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::npb::ft;

namespace {

std::vector<Complex> random_rows(std::size_t count) {
  RandomStream random(314159265);
  std::vector<Complex> rows(count);
  for (Complex& value : rows) {
    value.real = random.next();
    value.imaginary = random.next();
  }
  return rows;
}

// Transforms one row by the definition.
std::vector<Complex> slow_transform(std::span<const Complex> row, double sign) {
  std::vector<Complex> result(row.size());
  for (std::size_t k = 0; k < row.size(); ++k)
    for (std::size_t n = 0; n < row.size(); ++n) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(k * n % row.size()) /
                           static_cast<double>(row.size());
      result[k] = result[k] + row[n] * Complex{std::cos(angle), std::sin(angle)};
    }
  return result;
}

double distance(Complex a, Complex b) { return std::hypot(a.real - b.real, a.imaginary - b.imaginary); }

}  // namespace

TEST(every_row_is_transformed_as_defined) {
  for (const std::size_t length : {2u, 4u, 32u, 128u})
    for (const std::size_t rows : {1u, 3u, 16u, 21u}) {
      const std::vector<Complex> before = random_rows(length * rows);
      std::vector<Complex> after = before;
      RowTransform transform(length);
      transform(after, Direction::forward);
      for (std::size_t row = 0; row < rows; ++row) {
        const auto expected = slow_transform(std::span(before).subspan(row * length, length), +1);
        for (std::size_t k = 0; k < length; ++k)
          CHECK(distance(after[row * length + k], expected[k]) < 1e-11);
      }
    }
}

TEST(there_and_back_is_the_length_times_what_it_was) {
  const std::vector<Complex> before = random_rows(64 * 5);
  std::vector<Complex> after = before;
  RowTransform transform(64);
  transform(after, Direction::forward);
  transform(after, Direction::backward);
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(distance(after[i], {64 * before[i].real, 64 * before[i].imaginary}) < 1e-11);
}
