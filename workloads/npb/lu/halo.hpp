// Messages of LU between neighbours (NPB 3.4, LU: exchange_1, exchange_3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/lu/subdomain.hpp"

namespace crosscut::npb::lu {

class Halo {
 public:
  Halo(Communicator& world, const Subdomain& domain) : world_(world), domain_(domain) {
    const Index widest = std::max(domain.x().points, domain.y().points);
    const auto most = static_cast<std::size_t>(Field::layers * components * widest * domain.z().points);
    out_.resize(most);
    in_.resize(most);
  }

  // Fills both layers along dimension 0 or 1: first from the neighbour before, then from the one after.
  void exchange(Field& field, std::size_t dimension) {
    const Share& own = domain_.along(dimension);
    const auto layer = [&](Index at) {
      return Face{dimension, at, {0, domain_.along(1 - dimension).points}, {0, domain_.z().points}};
    };
    // On either side of the border between two ranks, the layer further from it comes first.
    const std::array<std::array<Index, 2>, 2> outside{{{-2, -1}, {own.points + 1, own.points}}};
    const std::array<std::array<Index, 2>, 2> inside{{{1, 0}, {own.points - 2, own.points - 1}}};
    const std::size_t each = layer(0).values();
    const auto half = [each](std::vector<double>& buffer, std::size_t n) {
      return std::span(buffer).subspan(n * each, each);
    };
    for (const Side from : {before, after}) {
      const auto& source = own.neighbour[from];
      const auto& target = own.neighbour[opposite(from)];
      if (target)
        for (std::size_t n = 0; n < Field::layers; ++n)
          pack(field, layer(inside[opposite(from)][n]), half(out_, n));
      world_.shift(std::span(out_).first(2 * each), target, std::span(in_).first(2 * each), source,
                   tag(dimension, from));
      if (source)
        for (std::size_t n = 0; n < Field::layers; ++n) unpack(half(in_, n), layer(outside[from][n]), field);
    }
  }

  // For one plane of a sweep, receives the layer next to this rank's points from the neighbours on side
  // `from`, along x and then along y. Leaves out points on the cube's faces.
  void receive_plane(Field& field, Index z, Side from) {
    for (const std::size_t dimension : shared_dimensions) {
      const Share& own = domain_.along(dimension);
      if (!own.neighbour[from]) continue;
      const Face face = edge(dimension, from == before ? -1 : own.points, z);
      const auto values = std::span(in_).first(face.values());
      world_.receive(values, *own.neighbour[from], tag(dimension, from));
      unpack(values, face, field);
    }
  }

  // Likewise sends this rank's outermost points to the neighbours on side `to`.
  void send_plane(const Field& field, Index z, Side to) {
    for (const std::size_t dimension : shared_dimensions) {
      const Share& own = domain_.along(dimension);
      if (!own.neighbour[to]) continue;
      const Face face = edge(dimension, to == before ? 0 : own.points - 1, z);
      const auto values = std::span(out_).first(face.values());
      pack(field, face, values);
      world_.send(values, *own.neighbour[to], tag(dimension, opposite(to)));
    }
  }

 private:
  // One tag per dimension and direction, so that a misplaced message is never accepted.
  static int tag(std::size_t dimension, Side from) { return static_cast<int>(1 + 2 * dimension + from); }

  static Side opposite(Side side) { return side == before ? after : before; }

  // Points with one fixed coordinate: `at` along `dimension`, x or y. `across` is the range along the other.
  struct Face {
    std::size_t dimension;
    Index at;
    Range across;
    Range z;

    std::size_t values() const { return static_cast<std::size_t>(across.size() * z.size() * components); }
  };

  // Returns the points of one plane at `at` along the dimension, without those on the cube's faces.
  Face edge(std::size_t dimension, Index at, Index z) const {
    return {dimension, at, domain_.along(1 - dimension).inner, {z, z + 1}};
  }

  // Calls visit(value) for each number of the face, always in the same order.
  template <typename AnyField, typename Visit>
  static void for_each(AnyField& field, const Face& face, Visit&& visit) {
    const Index first = face.dimension == 0 ? face.at : face.across.begin;
    const Index step = face.dimension == 0 ? field.y_step() : 1;
    for (Index z = face.z.begin; z < face.z.end; ++z)
      for (Index m = 0; m < components; ++m) {
        auto* at =
            field.row(face.dimension == 0 ? face.across.begin : face.at, z) + m * field.pitch() + first;
        for (Index n = 0; n < face.across.size(); ++n) visit(at[n * step]);
      }
  }

  static void pack(const Field& field, const Face& face, std::span<double> to) {
    auto next = to.begin();
    for_each(field, face, [&](const double& value) { *next++ = value; });
  }

  static void unpack(std::span<const double> from, const Face& face, Field& field) {
    auto next = from.begin();
    for_each(field, face, [&](double& value) { value = *next++; });
  }

  Communicator& world_;
  const Subdomain& domain_;
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace crosscut::npb::lu
