#include "npb/multipartition/faces.hpp"

#include <algorithm>

namespace crosscut::npb::multipartition {

namespace {

// A side of a cell: that of its last points along the dimension, or of its first.
struct Side {
  std::size_t dimension;
  bool last;

  std::size_t number() const { return 2 * dimension + (last ? 0 : 1); }
  Side opposite() const { return {dimension, !last}; }
};

constexpr std::array<Side, 2 * dimensions> all_sides{
    {{0, true}, {0, false}, {1, true}, {1, false}, {2, true}, {2, false}}};

bool has_neighbour(const Cell& cell, const Side& side, int cells) {
  return cell.place[side.dimension] != (side.last ? cells - 1 : 0);
}

struct Box {
  Triple begin{};
  Triple end{};
};

// Two layers of points at the side: within the cell, or beyond it.
Box layers(const Cell& cell, const Side& side, bool beyond) {
  constexpr int thickness = static_cast<int>(Shape::layers);
  Box box{.end = cell.extent};
  const int edge = side.last ? cell.extent[side.dimension] : 0;
  const bool upward = side.last == beyond;
  box.begin[side.dimension] = upward ? edge : edge - thickness;
  box.end[side.dimension] = upward ? edge + thickness : edge;
  return box;
}

// Calls visit(position, length) for the rows of a box.
template <typename Visit>
void for_each_row(const Block& block, const Box& box, Visit&& visit) {
  for (int k = box.begin[2]; k < box.end[2]; ++k)
    for (int j = box.begin[1]; j < box.end[1]; ++j)
      visit(block.shape.at(box.begin[0], j, k), box.end[0] - box.begin[0]);
}

void copy_out(const Block& block, const Box& box, std::vector<double>& values) {
  for (const Values& component : block.solution)
    for_each_row(block, box, [&](Index begin, Index length) {
      const double* from = component.data() + begin;
      values.insert(values.end(), from, from + length);
    });
}

const double* copy_in(Block& block, const Box& box, const double* values) {
  for (Values& component : block.solution)
    for_each_row(block, box, [&](Index begin, Index length) {
      std::copy(values, values + length, component.data() + begin);
      values += length;
    });
  return values;
}

std::size_t size(const Box& box) {
  std::size_t points = 1;
  for (std::size_t d = 0; d < dimensions; ++d) points *= static_cast<std::size_t>(box.end[d] - box.begin[d]);
  return points;
}

}  // namespace

Faces::Faces(Communicator& world, const Partition& partition) : world_(world), partition_(partition) {
  for (const Side& side : all_sides) {
    std::size_t points = 0;
    for (const Cell& cell : partition.cells())
      if (has_neighbour(cell, side, partition.side())) points += size(layers(cell, side, true));
    in_[side.number()].resize(components * points);
    out_[side.number()].reserve(components * points);
  }
}

void Faces::exchange(std::vector<Block>& blocks) {
  if (partition_.side() == 1) return;
  for (const Side& side : all_sides) {
    out_[side.number()].clear();
    for (const Block& block : blocks)
      if (has_neighbour(block.cell, side, partition_.side()))
        copy_out(block, layers(block.cell, side, false), out_[side.number()]);
  }
  std::array<MPI_Request, 2 * sides> requests{};
  const auto rank_at = [&](const Side& side) {
    return partition_.neighbour(side.dimension, side.last ? 1 : -1);
  };
  // A message's tag says which side it leaves by.
  for (const Side& side : all_sides)
    requests[side.number()] =
        world_.receive_later(in_[side.number()], rank_at(side), static_cast<int>(side.opposite().number()));
  for (const Side& side : all_sides)
    requests[sides + side.number()] =
        world_.send_later(out_[side.number()], rank_at(side), static_cast<int>(side.number()));
  world_.wait_all(requests);
  for (const Side& side : all_sides) {
    const double* next = in_[side.number()].data();
    for (Block& block : blocks)
      if (has_neighbour(block.cell, side, partition_.side()))
        next = copy_in(block, layers(block.cell, side, true), next);
  }
}

}  // namespace crosscut::npb::multipartition
