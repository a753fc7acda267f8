#include <cmath>
#include <cstdint>
#include <vector>

#include "npb/cg/sparse_matrix.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::npb::cg;

namespace {

constexpr MatrixSize small{.order = 60, .nonzeros = 4, .iterations = 1, .shift = 10, .zeta = 0};
constexpr Range whole{0, small.order};

// Returns the matrix column by column, from products with unit vectors.
std::vector<std::vector<double>> dense(const SparseMatrix& matrix, Range rows, Range columns) {
  std::vector<std::vector<double>> found;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    std::vector<double> unit(columns.size(), 0.0), product(rows.size());
    unit[column] = 1;
    matrix.multiply(unit, product);
    found.push_back(product);
  }
  return found;
}

}  // namespace

TEST(the_matrix_is_symmetric) {
  const auto found = dense(SparseMatrix(small, whole, whole), whole, whole);
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(std::abs(found[i][j] - found[j][i]) < 1e-15);
}

TEST(without_its_shift_the_matrix_is_positive_definite) {
  MatrixSize unshifted = small;
  unshifted.shift = 0;
  const SparseMatrix matrix(unshifted, whole, whole);
  for (std::size_t pivot = 0; pivot < whole.size(); ++pivot) {
    std::vector<double> vector(whole.size(), -0.01), image(whole.size());
    vector[pivot] = 1;
    matrix.multiply(vector, image);
    double product = 0;
    for (std::size_t i = 0; i < vector.size(); ++i) product += vector[i] * image[i];
    CHECK(product > 0);
  }
}

TEST(blocks_are_the_matrix_cut_up) {
  const auto found = dense(SparseMatrix(small, whole, whole), whole, whole);
  std::size_t elements = 0;
  for (const Range rows : {Range{0, 23}, Range{23, small.order}})
    for (const Range columns : {Range{0, 7}, Range{7, small.order}}) {
      const SparseMatrix block(small, rows, columns);
      elements += block.elements();
      const auto part = dense(block, rows, columns);
      for (std::size_t c = 0; c < columns.size(); ++c)
        for (std::size_t r = 0; r < rows.size(); ++r)
          CHECK_EQ(
              part[c][r],
              found[c + static_cast<std::size_t>(columns.first)][r + static_cast<std::size_t>(rows.first)]);
    }
  CHECK_EQ(elements, SparseMatrix(small, whole, whole).elements());
}
