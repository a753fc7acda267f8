#include "npb/cg/sparse_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "npb/common/random.hpp"

namespace crosscut::npb::cg {

namespace {

constexpr std::uint64_t seed = 314159265;
constexpr double condition = 0.1;  // its inverse is about the condition number

struct Element {
  std::int32_t index;
  double value;
};

// The random vectors, one after another in the order in which their numbers are drawn.
class Vectors {
 public:
  explicit Vectors(const MatrixSize& size)
      : size_(size), power_of_two_(std::bit_ceil(static_cast<std::uint32_t>(size.order))) {
    random_.next();  // the first is drawn and not used
  }

  // The next vector: so many distinct places, and 1/2 at its own.
  std::span<const Element> next() {
    vector_.clear();
    while (vector_.size() < static_cast<std::size_t>(size_.nonzeros)) {
      const double value = random_.next();
      const auto index = static_cast<std::int32_t>(power_of_two_ * random_.next());
      if (index < size_.order && !find(index)) vector_.push_back({index, value});
    }
    if (Element* own = find(number_))
      own->value = 0.5;
    else
      vector_.push_back({number_, 0.5});
    ++number_;
    return vector_;
  }

 private:
  Element* find(std::int32_t index) {
    const auto found = std::ranges::find(vector_, index, &Element::index);
    return found == vector_.end() ? nullptr : &*found;
  }

  const MatrixSize& size_;
  double power_of_two_;
  RandomStream random_{seed};
  std::int32_t number_ = 0;
  std::vector<Element> vector_;
};

// Elements of each row of the block, one for each product, with columns more than once.
std::vector<std::size_t> count_products(const MatrixSize& size, Range rows, Range columns) {
  std::vector<std::size_t> begin(rows.size() + 1);
  Vectors vectors(size);
  for (std::int32_t i = 0; i < size.order; ++i) {
    const auto vector = vectors.next();
    const auto here =
        std::ranges::count_if(vector, [&](const Element& one) { return columns.contains(one.index); });
    for (const Element& one : vector)
      if (rows.contains(one.index))
        begin[static_cast<std::size_t>(one.index - rows.first) + 1] += static_cast<std::size_t>(here);
  }
  for (std::size_t row = 1; row < begin.size(); ++row) begin[row] += begin[row - 1];
  return begin;
}

std::vector<Element> all_products(const MatrixSize& size, Range rows, Range columns,
                                  std::vector<std::size_t> next) {
  std::vector<Element> products(next.back());
  Vectors vectors(size);
  const double ratio = std::pow(condition, 1.0 / size.order);
  double weight = 1;
  for (std::int32_t i = 0; i < size.order; ++i, weight *= ratio) {
    const auto vector = vectors.next();
    for (const Element& row : vector) {
      if (!rows.contains(row.index)) continue;
      for (const Element& column : vector) {
        if (!columns.contains(column.index)) continue;
        double value = column.value * row.value * weight;
        if (row.index == i && column.index == i) value += condition - size.shift;
        products[next[static_cast<std::size_t>(row.index - rows.first)]++] = {column.index - columns.first,
                                                                              value};
      }
    }
  }
  return products;
}

}  // namespace

SparseMatrix::SparseMatrix(const MatrixSize& size, Range rows, Range columns) {
  const std::vector<std::size_t> begin = count_products(size, rows, columns);
  std::vector<Element> products = all_products(size, rows, columns, begin);
  row_begin_.push_back(0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto of_row = std::span(products).subspan(begin[row], begin[row + 1] - begin[row]);
    // Stable: the same sums on every machine.
    std::ranges::stable_sort(of_row, {}, &Element::index);
    for (const Element& one : of_row) {
      if (values_.size() > row_begin_.back() && column_.back() == one.index) {
        values_.back() += one.value;
      } else {
        column_.push_back(one.index);
        values_.push_back(one.value);
      }
    }
    row_begin_.push_back(values_.size());
  }
}

void SparseMatrix::multiply(std::span<const double> vector, std::span<double> result) const {
  for (std::size_t row = 0; row + 1 < row_begin_.size(); ++row) {
    double sum = 0;
    for (std::size_t k = row_begin_[row]; k < row_begin_[row + 1]; ++k)
      sum += values_[k] * vector[static_cast<std::size_t>(column_[k])];
    result[row] = sum;
  }
}

}  // namespace crosscut::npb::cg
