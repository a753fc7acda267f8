// The two-dimensional grid of ranks of CG, and its messages, as in NPB's MPI version (NPB 3.3, CG/cg.f,
// setup_submatrix_info and conj_grad): as many columns as rows, or twice as many. A rank has a block of the
// matrix and the part of each vector that belongs to its columns; a row of the grid has a whole vector
// between its ranks.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/cg/sparse_matrix.hpp"
#include "npb/common/communicator.hpp"

namespace crosscut::npb::cg {

class ProcessorGrid {
 public:
  ProcessorGrid(Communicator& world, std::int32_t order);

  int grid_rows() const { return grid_rows_; }
  int grid_columns() const { return grid_columns_; }
  Range rows() const { return rows_; }
  Range columns() const { return columns_; }

  // From `partial`, this block's share of a product (by row; it is overwritten), to the part of the sum that
  // belongs to our columns: sums along the row of the grid, then an exchange with the transposed rank.
  // `result` has room for as many elements as there are rows or columns here.
  void sum_and_transpose(std::span<double> partial, std::span<double> result);

  // Sums over the row of the grid, and so over a whole vector, in log2(columns) exchanges.
  template <std::size_t count>
  std::array<double, count> sum(std::array<double, count> values) {
    std::array<double, count> theirs{};
    for (const Partner& partner : partners_) {
      exchange(partner.rank, std::span<const double>(values), std::span<double>(theirs));
      for (std::size_t i = 0; i < count; ++i) values[i] += theirs[i];
    }
    return values;
  }

 private:
  struct Slice {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  struct Partner {
    int rank = 0;
    Slice sent{};           // of the partial sums
    std::size_t taken = 0;  // elements, added from kept_.begin on
  };

  void find_partners();
  void exchange(int partner, std::span<const double> sent, std::span<double> taken);

  Communicator& world_;
  int grid_rows_ = 1;
  int grid_columns_ = 1;
  Range rows_;
  Range columns_;
  Slice kept_;                     // the rows whose sums end here, before the transposition
  std::vector<Partner> partners_;  // in the order of scalar sums; vectors are summed in the opposite one
  int transposed_rank_ = 0;
};

}  // namespace crosscut::npb::cg
