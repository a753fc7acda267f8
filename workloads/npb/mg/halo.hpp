// The messages of MG between neighbours (NPB 3.3, MG/mg.f: comm3, comm3_ex).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/mg/grid.hpp"
#include "npb/mg/levels.hpp"

namespace crosscut::npb::mg {

class Halo {
 public:
  explicit Halo(Communicator& world) : world_(world) {}

  // Fills the layer around `grid` from the neighbours; the domain is periodic. One dimension after another,
  // so that edges and corners travel along; in each, both receives are posted, then both layers sent.
  void exchange(Grid& grid, const Level& level);

  // After interpolation from a level on which some ranks were idle: gives them their part, and the layer
  // around it.
  void give_to_idle(Grid& grid, const Level& level);

 private:
  using Boxes = std::array<Box, 2>;  // what goes down, what goes up

  void exchange_across(Grid& grid, const Level& level, std::size_t dimension);
  void copy_across(Grid& grid, std::size_t dimension);
  void send(const Grid& grid, const Level& level, std::size_t dimension, const Boxes& from);
  // `meanwhile` runs between the posting of both receives and their ends.
  template <typename Meanwhile>
  void receive(Grid& grid, const Level& level, std::size_t dimension, const Boxes& into,
               Meanwhile&& meanwhile);

  Communicator& world_;
  std::vector<double> out_;
};

}  // namespace crosscut::npb::mg
