// Solves along the lines of a dimension, whose cells belong to different ranks: elimination from the first
// cell to the last, then substitution back (NPB 3.3, x_solve and so on). A cell needs the last rows computed
// by the previous cell; those of all its lines travel in one message.
//
// A System defines the equations:
//   carried     number of rows that reach from one cell into the next
//   uppers      numbers in a row right of the diagonal, after elimination
//   room        true: messages are as long as for a cell of the largest size without boundary (BT);
//               false: as long as necessary (SP)
//   Terms       a point's contribution, for each line, to the equations around it; `find` computes it
//   eliminate   turns a right-hand side into a row, given the terms around it and `carried` rows before
//   substitute  solves the rows of a bundle of lines from last to first, given `carried` solved rows after
//   turn        transforms a point's solution before it is written into the right-hand side
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/multipartition/lines.hpp"
#include "npb/multipartition/partition.hpp"

namespace crosscut::npb::multipartition {

template <std::size_t upper_count>
struct Row {
  Lanes upper[upper_count];
  Lanes right[components];
};

// Fills the rows of a bundle of lines from first to last, given `carried` rows before.
template <typename System>
void eliminate(const Block& block, const Bundle& bundle, const Lines& lines, Row<System::uppers>* rows) {
  std::array<typename System::Terms, 3> terms;  // before, here and after: by position modulo 3
  const auto at = [&](Index p) -> auto& { return terms[static_cast<std::size_t>(p + 3) % 3]; };
  for (const Index p : {-1, 0}) System::find(block, bundle, lines.dimension, p, at(p));
  for (Index p = 0; p < lines.length; ++p) {
    System::find(block, bundle, lines.dimension, p + 1, at(p + 1));
    const int position = block.cell.first[lines.dimension] + static_cast<int>(p);
    if (position == 0 || position == block.grid.points - 1) {
      rows[p] = {};  // the boundary does not change
      continue;
    }
    for (std::size_t m = 0; m < components; ++m) rows[p].right[m] = bundle.load(block.right[m], p);
    System::eliminate(at(p - 1), at(p), at(p + 1), position, block.grid, rows + p);
  }
}

template <typename System>
class Sweep {
 public:
  Sweep(Communicator& world, const Partition& partition, std::vector<Block>& blocks)
      : world_(world), partition_(partition), blocks_(blocks), rows_(blocks.size()) {
    for (std::size_t d = 0; d < dimensions; ++d)
      for (const Block& block : blocks) lines_[d].emplace_back(block, d);
  }

  void solve(std::size_t dimension) {
    pass<true>(dimension);
    pass<false>(dimension);
  }

 private:
  using SystemRow = Row<System::uppers>;
  static constexpr Index carried = System::carried;
  static constexpr std::size_t sent_forward = System::carried * (System::uppers + components);
  static constexpr std::size_t sent_back = System::carried * components;
  static constexpr int first_tag = 6;  // lower tags are used for faces

  // Goes from the first cell to the last, or back.
  template <bool forward>
  void pass(std::size_t dimension) {
    const int last = partition_.side() - 1;
    const int next_rank = partition_.neighbour(dimension, forward ? 1 : -1);
    const int previous_rank = partition_.neighbour(dimension, forward ? -1 : 1);
    constexpr std::size_t sent_rows = forward ? sent_forward : sent_back;
    constexpr int tag = first_tag + (forward ? 0 : 1);
    MPI_Request sent = MPI_REQUEST_NULL;
    for (int done = 0; done <= last; ++done) {
      const std::size_t cell = partition_.cell_at(dimension, forward ? done : last - done);
      const Lines& lines = lines_[dimension][cell];
      if (forward) make_room(cell, lines);
      if (done > 0) receive(lines, sent_rows, previous_rank, tag, sent);
      const double* next = in_.data();
      for (std::size_t b = 0; b < lines.bundles.size(); ++b) {
        const Bundle& bundle = lines.bundles[b];
        SystemRow* rows = rows_of(cell, lines, b);
        SystemRow* carried_here = forward ? rows - carried : rows + lines.length;
        if (done == 0)
          std::fill(carried_here, carried_here + carried, SystemRow{});
        else
          next = unpack(next, bundle, carried_here, forward);
        if (forward) {
          eliminate<System>(blocks_[cell], bundle, lines, rows);
        } else {
          System::substitute(lines, rows);
          store(bundle, lines, rows, blocks_[cell]);
        }
      }
      if (done == last) return;
      pack(cell, lines, forward ? lines.length - carried : 0, forward);
      sent = send(lines, sent_rows, next_rank, tag);
    }
  }

  // Rows per bundle: its points, and the carried rows of the cells before and after.
  static Index rows_of_bundle(const Lines& lines) { return lines.length + 2 * carried; }

  void make_room(std::size_t cell, const Lines& lines) {
    rows_[cell].resize(lines.bundles.size() * static_cast<std::size_t>(rows_of_bundle(lines)));
  }

  SystemRow* rows_of(std::size_t cell, const Lines& lines, std::size_t bundle) {
    return rows_[cell].data() + static_cast<Index>(bundle) * rows_of_bundle(lines) + carried;
  }

  std::size_t message_size(const Lines& lines, std::size_t each) const {
    const auto side = static_cast<std::size_t>(partition_.cell_room());
    return each * (System::room ? side * side : lines.count);
  }

  // Also waits for the previous send, whose buffer is reused.
  void receive(const Lines& lines, std::size_t each, int rank, int tag, MPI_Request& sent) {
    in_.resize(message_size(lines, each));
    std::array requests{world_.receive_later(in_, rank, tag), sent};
    world_.wait_all(requests);
    sent = MPI_REQUEST_NULL;
  }

  MPI_Request send(const Lines& lines, std::size_t each, int rank, int tag) {
    out_.resize(message_size(lines, each));
    return world_.send_later(out_, rank, tag);
  }

  // Leaves the rows unchanged: the first ones are sent on.
  static void store(const Bundle& bundle, const Lines& lines, const SystemRow* rows, Block& block) {
    for (Index p = 0; p < lines.length; ++p) {
      Lanes right[components];
      std::ranges::copy(rows[p].right, right);
      System::turn(lines.dimension, right);
      for (std::size_t m = 0; m < components; ++m) bundle.store(right[m], block.right[m], p);
    }
  }

  // Visits the numbers of a row that are sent.
  template <typename AnyRow, typename Visit>
  static void for_each_number(AnyRow& row, bool forward, Visit&& visit) {
    if (forward)
      for (auto& one : row.upper) visit(one);
    for (auto& one : row.right) visit(one);
  }

  void pack(std::size_t cell, const Lines& lines, Index first, bool forward) {
    out_.clear();
    for (std::size_t b = 0; b < lines.bundles.size(); ++b) {
      const SystemRow* rows = rows_of(cell, lines, b) + first;
      for (Index r = 0; r < carried; ++r)
        for_each_number(rows[r], forward, [&](const Lanes& lanes) {
          for (std::size_t lane = 0; lane < lines.bundles[b].lines; ++lane) out_.push_back(lanes.get(lane));
        });
    }
  }

  static const double* unpack(const double* next, const Bundle& bundle, SystemRow* rows, bool forward) {
    for (Index r = 0; r < carried; ++r)
      for_each_number(rows[r], forward, [&](Lanes& lanes) {
        for (std::size_t lane = 0; lane < width; ++lane)
          lanes.set(lane, next[std::min(lane, bundle.lines - 1)]);
        next += bundle.lines;
      });
    return next;
  }

  Communicator& world_;
  const Partition& partition_;
  std::vector<Block>& blocks_;
  std::array<std::vector<Lines>, dimensions> lines_;  // by dimension and cell
  std::vector<std::vector<SystemRow>> rows_;          // by cell
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace crosscut::npb::multipartition
