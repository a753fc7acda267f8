// Tori and meshes of any dimension.
#include "networks/generators/torus.hpp"

#include <array>

namespace crosscut::networks::generators {
namespace {

void make(const program::Parameters& given, std::int64_t vertices_max, Network& network) {
  TorusShape shape;
  shape.sizes = numbers(given, "dimensions");
  if (shape.sizes.empty()) throw UsageError("dimensions is empty; write the sizes as \"8x8x8\"");
  shape.wrap = given.boolean("wrap");
  shape.one_way = given.boolean("one_way");
  read_common(given, shape);
  make_torus(shape, vertices_max, network);
}

const std::array parameters = {
    list_parameter("dimensions", "4x4x4", "vertices in each dimension: 8x8x8"),
    program::Parameter{.name = "wrap",
                       .kind = program::Parameter::Kind::boolean,
                       .initial = "true",
                       .help = "true: each line is closed to a ring (torus); false: it is open (mesh)",
                       .choices = {}},
    torus_one_way_parameter(),
    torus_hosts_parameter(),
    rate_parameter(always_written, "", "rate of each link between neighbours, in each direction"),
    torus_host_rate_parameter(),
};

}  // namespace
}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(torus,
                          {.name = "torus",
                           .summary = "A grid of any dimension, closed to rings (torus) or open (mesh)",
                           .source = "Dally and Towles 2004, chapter 5; SCI's rings in two and three "
                                     "dimensions: Bode, Hill and Benjegerdes 2004; that they go one way: "
                                     "IEEE 1596-1992",
                           .parameters = parameters,
                           .make = make})
