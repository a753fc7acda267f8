// The matrix of CG (RNR-94-007, section 2.2.3): the sum of n outer products of sparse random vectors with
// itself, the first weighing 1, the last 1/condition, and (1/condition - shift) on the diagonal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
  int nonzeros;  // of a random vector
  int iterations;
  double shift;
  double zeta;  // published
};

// A block in compressed rows; columns are counted from the block's first.
class SparseMatrix {
 public:
  SparseMatrix(const MatrixSize& size, Range rows, Range columns);

  // result[row] = sum over columns of the block.
  void multiply(std::span<const double> vector, std::span<double> result) const;

  std::size_t elements() const { return values_.size(); }

 private:
  std::vector<std::size_t> row_begin_;
  std::vector<std::int32_t> column_;
  std::vector<double> values_;
};

}  // namespace crosscut::npb::cg
