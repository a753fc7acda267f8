// The matrix of CG (RNR-94-007, section 2.2.3): the sum of the outer products of n sparse random vectors with
// themselves, with weights from 1 to 1/condition, and (1/condition - shift) on the diagonal.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npb/common/random.hpp"

namespace crosscut::npb::cg {

// Rows or columns of the whole matrix, from `first` up to but not including `end`.
struct Range {
  std::int32_t first = 0;
  std::int32_t end = 0;

  std::size_t size() const { return static_cast<std::size_t>(end - first); }
  bool contains(std::int32_t index) const { return first <= index && index < end; }
};

struct MatrixSize {
  std::int32_t order;
  int nonzeros;  // per random vector
  int iterations;
  double shift;
  double zeta;  // published value
};

struct Element {
  std::int32_t index;
  double value;
};

// The random vectors, in the order in which their numbers are drawn.
class Vectors {
 public:
  explicit Vectors(const MatrixSize& size)
      : size_(size), power_of_two_(std::bit_ceil(static_cast<std::uint32_t>(size.order))) {
    random_.next();  // the first number is not used
  }

  // Returns the next vector: `nonzeros` distinct positions, and 1/2 at its own position.
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
  RandomStream random_{314159265};
  std::int32_t number_ = 0;
  std::vector<Element> vector_;
};

// A block in compressed rows. Columns are counted from the block's first.
class SparseMatrix {
 public:
  SparseMatrix(const MatrixSize& size, Range rows, Range columns) {
    constexpr double condition = 0.1;  // its inverse is about the condition number
    const double ratio = std::pow(condition, 1.0 / size.order);
    std::vector<std::vector<Element>> elements(rows.size());  // by row, then column
    Vectors vectors(size);
    double weight = 1;
    for (std::int32_t i = 0; i < size.order; ++i, weight *= ratio) {
      const auto vector = vectors.next();
      for (const Element& row : vector) {
        if (!rows.contains(row.index)) continue;
        for (const Element& column : vector) {
          if (!columns.contains(column.index)) continue;
          double value = column.value * row.value * weight;
          if (row.index == i && column.index == i) value += condition - size.shift;
          add({column.index - columns.first, value},
              elements[static_cast<std::size_t>(row.index - rows.first)]);
        }
      }
    }
    row_begin_.push_back(0);
    for (const std::vector<Element>& row : elements) {
      for (const Element& one : row) {
        column_.push_back(one.index);
        values_.push_back(one.value);
      }
      row_begin_.push_back(values_.size());
    }
  }

  // Computes result[row], summed over the block's columns.
  void multiply(std::span<const double> vector, std::span<double> result) const {
    for (std::size_t row = 0; row + 1 < row_begin_.size(); ++row) {
      double sum = 0;
      for (std::size_t k = row_begin_[row]; k < row_begin_[row + 1]; ++k)
        sum += values_[k] * vector[static_cast<std::size_t>(column_[k])];
      result[row] = sum;
    }
  }

  std::size_t elements() const { return values_.size(); }

 private:
  static void add(const Element& element, std::vector<Element>& row) {
    const auto found = std::ranges::lower_bound(row, element.index, {}, &Element::index);
    if (found != row.end() && found->index == element.index)
      found->value += element.value;
    else
      row.insert(found, element);
  }

  std::vector<std::size_t> row_begin_;
  std::vector<std::int32_t> column_;
  std::vector<double> values_;
};

}  // namespace crosscut::npb::cg
