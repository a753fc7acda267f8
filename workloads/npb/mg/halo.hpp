// Messages of MG between neighbours (NPB 3.3, MG/mg.f: comm3, comm3_ex).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/mg/grid.hpp"
#include "npb/mg/levels.hpp"

namespace crosscut::npb::mg {

class Halo {
 public:
  explicit Halo(Communicator& world) : world_(world) {}

  // Fills the layer around `grid` from the neighbours; the domain is periodic. Goes dimension by dimension,
  // so that edges and corners are passed along; in each, posts both receives, then sends both layers.
  void exchange(Grid& grid, const Level& level) {
    if (level.idle) return;
    for (std::size_t dimension = 0; dimension < dimensions; ++dimension)
      world_.size() == 1 ? copy_across(grid, dimension) : exchange_across(grid, level, dimension);
  }

  // Called after interpolation from a level on which some ranks were idle: gives those ranks their part and
  // the layer around it. Such a rank has one point along this dimension, and the layer around it: positions
  // 0, 1, 2. The rank below has computed the first two, the rank above the last one.
  void give_to_idle(Grid& grid, const Level& level) {
    if (world_.size() == 1) return;
    for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
      const std::size_t last = grid.extent(dimension) - 1;
      const auto layers = [&](std::size_t begin, std::size_t end) {
        return whole_layers(grid, dimension, begin, end);
      };
      if (level.is_given[dimension])
        receive(grid, level, dimension, {layers(last, last + 1), layers(0, 2)}, [] {});
      if (level.gives[dimension]) send(grid, level, dimension, {layers(1, 2), layers(last - 1, last + 1)});
    }
  }

 private:
  static constexpr std::size_t down = 0, up = 1;

  // Tags tell messages apart by their direction.
  static int tag(std::size_t dimension, std::size_t way) {
    return static_cast<int>(10 * (dimension + 1) + way);
  }

  // Returns the layers from `begin` up to but not including `end` across a dimension.
  static Box whole_layers(const Grid& grid, std::size_t dimension, std::size_t begin, std::size_t end) {
    Box box = grid.all();
    box.begin[dimension] = begin;
    box.end[dimension] = end;
    return box;
  }

  // Like whole_layers, without the surrounding layers along later dimensions. Those along earlier dimensions
  // have been exchanged and are passed along; those along later ones have not.
  static Box inner_layers(const Grid& grid, std::size_t dimension, std::size_t begin, std::size_t end) {
    Box box = whole_layers(grid, dimension, begin, end);
    for (std::size_t later = dimension + 1; later < dimensions; ++later) {
      box.begin[later] += 1;
      box.end[later] -= 1;
    }
    return box;
  }

  using Boxes = std::array<Box, 2>;  // going down, going up

  void exchange_across(Grid& grid, const Level& level, std::size_t dimension) {
    const std::size_t last = grid.extent(dimension) - 1;
    const auto layer = [&](std::size_t at) { return inner_layers(grid, dimension, at, at + 1); };
    receive(grid, level, dimension, {layer(last), layer(0)}, [&] {
      send(grid, level, dimension, {layer(1), layer(last - 1)});
    });
  }

  // A single rank is its own neighbour; NPB then sends nothing.
  void copy_across(Grid& grid, std::size_t dimension) {
    const std::size_t last = grid.extent(dimension) - 1;
    for (const auto& [from, to] : {std::array{last - 1, std::size_t{0}}, std::array{std::size_t{1}, last}}) {
      const Box box = inner_layers(grid, dimension, from, from + 1);
      const auto layer = room(out_, box);
      grid.copy_out(box, layer);
      grid.copy_in(inner_layers(grid, dimension, to, to + 1), layer);
    }
  }

  void send(const Grid& grid, const Level& level, std::size_t dimension, const Boxes& from) {
    for (const std::size_t way : {up, down}) {
      const auto layer = room(out_, from[way]);
      grid.copy_out(from[way], layer);
      world_.send(layer, level.neighbours[dimension][way], tag(dimension, way));
    }
  }

  // Runs `meanwhile` after posting both receives, before waiting for them.
  template <typename Meanwhile>
  void receive(Grid& grid, const Level& level, std::size_t dimension, const Boxes& into,
               Meanwhile&& meanwhile) {
    std::array<std::span<double>, 2> layers;
    std::array<MPI_Request, 2> requests{};
    for (const std::size_t way : {down, up}) {
      layers[way] = room(in_[way], into[way]);
      requests[way] =
          world_.receive_later(layers[way], level.neighbours[dimension][1 - way], tag(dimension, way));
    }
    meanwhile();
    for (const std::size_t way : {down, up}) {
      world_.wait(requests[way]);
      grid.copy_in(into[way], layers[way]);
    }
  }

  // Returns room for the points of a box. The memory is kept for the next message.
  static std::span<double> room(std::vector<double>& memory, const Box& box) {
    if (memory.size() < box.size()) memory.resize(box.size());
    return std::span(memory).first(box.size());
  }

  Communicator& world_;
  std::vector<double> out_;
  std::array<std::vector<double>, 2> in_;
};

}  // namespace crosscut::npb::mg
