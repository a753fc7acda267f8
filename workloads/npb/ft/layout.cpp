#include "npb/ft/layout.hpp"

#include <algorithm>

namespace crosscut::npb::ft {

namespace {

// A matrix within an array: element (i, j) at data[i * stride + j].
struct From {
  const Complex* data;
  std::size_t stride;
};
struct To {
  Complex* data;
  std::size_t stride;
};

// to(j, i) = from(i, j), in tiles that stay in the cache.
void transpose(From from, To to, std::size_t rows, std::size_t columns) {
  constexpr std::size_t tile = 16;
  for (std::size_t i0 = 0; i0 < rows; i0 += tile)
    for (std::size_t j0 = 0; j0 < columns; j0 += tile)
      for (std::size_t i = i0; i < std::min(i0 + tile, rows); ++i)
        for (std::size_t j = j0; j < std::min(j0 + tile, columns); ++j)
          to.data[j * to.stride + i] = from.data[i * from.stride + j];
}

void copy_rows(From from, To to, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i)
    std::copy_n(from.data + i * from.stride, columns, to.data + i * to.stride);
}

}  // namespace

Layout::Layout(Communicator& world, Extents whole, std::array<int, 2> grid)
    : whole_(whole),
      row_(world.split(world.rank() / grid[0])),
      column_(world.split(world.rank() % grid[0])) {}

Layout::Turn Layout::x_to_y() {
  return {row_, z2(), y1(), x1(), y1() * whole_[0], x1(), whole_[0], x1() * y1(), y1(), whole_[1]};
}

Layout::Turn Layout::y_to_z() {
  return {column_, x1(), z2(), y2(), whole_[1], y2(), x1() * whole_[1], z2(), x1() * z2(), whole_[2]};
}

void Layout::turn(const Turn& by, std::vector<Complex>& data, std::vector<Complex>& scratch) {
  const std::size_t part = by.part(), ranks = by.size();
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t i = 0; i < by.count; ++i)
      transpose({&data[i * by.step + r * by.rank_step], by.stride},
                {&scratch[r * part + i * by.packed_step], by.packed_stride}, by.rows, by.columns);
  if (ranks > 1) {
    by.ranks.all_to_all(scratch, data);
    for (std::size_t r = 0; r < ranks; ++r)
      copy_rows({&data[r * part], by.rows}, {&scratch[r * by.rows], by.whole}, part / by.rows, by.rows);
  }
  data.swap(scratch);
}

void Layout::turn_back(const Turn& by, std::vector<Complex>& data, std::vector<Complex>& scratch) {
  const std::size_t part = by.part(), ranks = by.size();
  if (ranks > 1) {
    for (std::size_t r = 0; r < ranks; ++r)
      copy_rows({&data[r * by.rows], by.whole}, {&scratch[r * part], by.rows}, part / by.rows, by.rows);
    by.ranks.all_to_all(scratch, data);
  }
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t i = 0; i < by.count; ++i)
      transpose({&data[r * part + i * by.packed_step], by.packed_stride},
                {&scratch[i * by.step + r * by.rank_step], by.stride}, by.columns, by.rows);
  data.swap(scratch);
}

}  // namespace crosscut::npb::ft
