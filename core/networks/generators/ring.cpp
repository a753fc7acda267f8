// A torus with one dimension.
#include <array>

#include "networks/generators/torus.hpp"

namespace crosscut::networks::generators {
namespace {

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  TorusShape shape;
  shape.sizes = {count(given, "length")};
  shape.one_way = given.boolean("one_way");
  read_common(given, shape);
  make_torus(shape, vertices_max, network);
}

const std::array parameters = {
    count_parameter("length", "8", "vertices of the ring"),
    torus_one_way_parameter(),
    torus_hosts_parameter(),
    rate_parameter(always_written, "", "rate of each link between neighbours, in each direction"),
    torus_host_rate_parameter(),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(ring, {.name = "ring",
                                 .summary = "Hosts or switches in a circle, each wired to its two neighbours",
                                 .source = "Dally and Towles 2004, chapter 5: a torus of one dimension",
                                 .parameters = parameters,
                                 .make = make})
