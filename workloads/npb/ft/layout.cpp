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

// A message for or from rank r of the row, in the way there and back: [z][x of r][y here].
void Layout::x_to_y_rows(std::vector<Complex>& data, std::vector<Complex>& scratch) {
  const std::size_t part = z2() * x1() * y1();
  for (std::size_t r = 0; r < p1(); ++r)
    for (std::size_t z = 0; z < z2(); ++z)
      transpose({&data[z * y1() * whole_[0] + r * x1()], whole_[0]},
                {&scratch[r * part + z * x1() * y1()], y1()}, y1(), x1());
  if (p1() == 1) {
    data.swap(scratch);
    return;
  }
  row_.all_to_all(scratch, data);
  for (std::size_t r = 0; r < p1(); ++r)
    copy_rows({&data[r * part], y1()}, {&scratch[r * y1()], whole_[1]}, z2() * x1(), y1());
  data.swap(scratch);
}

void Layout::y_to_x_rows(std::vector<Complex>& data, std::vector<Complex>& scratch) {
  const std::size_t part = z2() * x1() * y1();
  if (p1() > 1) {
    for (std::size_t r = 0; r < p1(); ++r)
      copy_rows({&data[r * y1()], whole_[1]}, {&scratch[r * part], y1()}, z2() * x1(), y1());
    row_.all_to_all(scratch, data);
  }
  for (std::size_t r = 0; r < p1(); ++r)
    for (std::size_t z = 0; z < z2(); ++z)
      transpose({&data[r * part + z * x1() * y1()], y1()},
                {&scratch[z * y1() * whole_[0] + r * x1()], whole_[0]}, x1(), y1());
  data.swap(scratch);
}

// A message: [y of r][x][z here].
void Layout::y_to_z_rows(std::vector<Complex>& data, std::vector<Complex>& scratch) {
  const std::size_t part = y2() * x1() * z2();
  for (std::size_t r = 0; r < p2(); ++r)
    for (std::size_t x = 0; x < x1(); ++x)
      transpose({&data[x * whole_[1] + r * y2()], x1() * whole_[1]},
                {&scratch[r * part + x * z2()], x1() * z2()}, z2(), y2());
  if (p2() == 1) {
    data.swap(scratch);
    return;
  }
  column_.all_to_all(scratch, data);
  for (std::size_t r = 0; r < p2(); ++r)
    copy_rows({&data[r * part], z2()}, {&scratch[r * z2()], whole_[2]}, y2() * x1(), z2());
  data.swap(scratch);
}

void Layout::z_to_y_rows(std::vector<Complex>& data, std::vector<Complex>& scratch) {
  const std::size_t part = y2() * x1() * z2();
  if (p2() > 1) {
    for (std::size_t r = 0; r < p2(); ++r)
      copy_rows({&data[r * z2()], whole_[2]}, {&scratch[r * part], z2()}, y2() * x1(), z2());
    column_.all_to_all(scratch, data);
  }
  for (std::size_t r = 0; r < p2(); ++r)
    for (std::size_t x = 0; x < x1(); ++x)
      transpose({&data[r * part + x * z2()], x1() * z2()},
                {&scratch[x * whole_[1] + r * y2()], x1() * whole_[1]}, y2(), z2());
  data.swap(scratch);
}

}  // namespace crosscut::npb::ft
