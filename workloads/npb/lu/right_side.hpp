// What the equations of the flow say that u changes by, from its differences along x, y and z
// (NPB 3.4, LU: rhs, erhs).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "npb/lu/field.hpp"
#include "npb/lu/flow.hpp"
#include "npb/lu/halo.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

class RightSide {
 public:
  explicit RightSide(const Subdomain& domain);

  // Adds it to `change`, at points inside the cube. Fills the layers of `u` from neighbours, first along x
  // and then along y.
  void add(Field& u, Halo& halo, Field& change);

 private:
  // The flux F and what diffuses, W (flow.hpp), at the points of a row: by component, as in a Field.
  class Fluxes {
   public:
    explicit Fluxes(Index pitch)
        : flux_(static_cast<std::size_t>(components * pitch)), diffused_(flux_.size()) {}
    template <std::size_t dimension>
    void find(const double* row, Index pitch);
    const double* flux() const { return flux_.data() + Field::layers; }
    const double* diffused() const { return diffused_.data() + Field::layers; }

   private:
    std::vector<double> flux_;
    std::vector<double> diffused_;  // of density 0
  };

  // Of the fourth difference at a point that this rank counts as `at`.
  std::array<double, 5> weights_at(const Share& own, Index at) const;
  void add_along_x(const double* row, double* out);
  // Across `rows` of which one is `step` numbers after the other, `first` that of index 0.
  template <std::size_t dimension>
  void add_across_rows(const double* first, Index step, Range rows, double* out);

  const Subdomain& domain_;
  Grid grid_;
  Index pitch_;
  std::array<Fluxes, 3> fluxes_;  // of a row and those before and after it
};

}  // namespace crosscut::npb::lu
