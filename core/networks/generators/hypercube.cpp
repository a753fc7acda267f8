// A torus with two vertices in each dimension. Its dimension-order routing is the hypercube's e-cube routing.
#include <array>

#include "networks/generators/torus.hpp"

namespace crosscut::networks::generators {
namespace {

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  TorusShape shape;
  shape.sizes.assign(static_cast<std::size_t>(given.integer("dimensions")), 2);
  read_common(given, shape);
  make_torus(shape, vertices_max, network);
}

const std::array parameters = {
    count_parameter("dimensions", "4", "dimensions d: 2^d vertices, d links at each", 1, 30),
    torus_hosts_parameter(),
    rate_parameter(always_written, "", "rate of each link between neighbours, in each direction"),
    torus_host_rate_parameter(),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(hypercube,
                          {.name = "hypercube",
                           .summary = "2^d hosts or switches, each wired to the d that differ in a bit",
                           .source = "Seitz, The Cosmic Cube, CACM 1985; Sullivan and Bashkow 1977 "
                                     "(e-cube routing)",
                           .parameters = parameters,
                           .make = make})
