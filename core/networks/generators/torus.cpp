// Tori and meshes of any dimension.
#include "networks/generators/torus.hpp"

#include <array>

namespace crosscut::networks::generators {
namespace {

// Returns the number of edges in one line of vertices.
inline std::int32_t edges_of_line(std::int32_t size, bool wrap) { return wrap && size > 2 ? size : size - 1; }

struct TorusDimension {
  std::int32_t size = 0, stride = 0;  // stride: distance between neighbours, in vertices
  std::int32_t line = 0;              // edges of a line
  bool wraps = false;
  bool one_way = false;
  std::int64_t first_edge = 0;
  // Returns the edge from the vertex to the next one up.
  std::int64_t edge(std::int32_t vertex) const {
    const std::int32_t low = vertex % stride, at = vertex / stride % size, high = vertex / stride / size;
    return first_edge + (static_cast<std::int64_t>(high) * line + at) * stride + low;
  }
};

struct TorusNumbers {
  explicit TorusNumbers(const TorusShape& shape) : hosts_per_switch(shape.hosts_per_switch) {
    for (const std::int32_t size : shape.sizes) {
      dimensions.push_back({.size = size,
                            .stride = vertices,
                            .line = edges_of_line(size, shape.wrap),
                            .wraps = shape.wrap && size > 2,
                            .one_way = shape.one_way,
                            .first_edge = 0});
      vertices *= size;
    }
    std::int64_t edge = static_cast<std::int64_t>(hosts_per_switch) * vertices;
    for (TorusDimension& dimension : dimensions) {
      dimension.first_edge = edge;
      edge += static_cast<std::int64_t>(vertices / dimension.size) * dimension.line;
    }
  }
  std::vector<TorusDimension> dimensions;
  std::int32_t vertices = 1, hosts_per_switch;
};

// Routes dimension by dimension, the shorter way round where there are two.
class TorusRouter final : public ArithmeticRouter<TorusNumbers> {
 public:
  using ArithmeticRouter::ArithmeticRouter;

  // Ignores requested adapters: if hosts are the vertices, the destination determines the adapter.
  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    Chooser choices = chooser(request);
    const std::int32_t on_switch = std::max(1, numbers_.hosts_per_switch);
    std::int32_t at = request.source / on_switch;
    const std::int32_t destination = request.destination / on_switch;
    if (numbers_.hosts_per_switch > 0) lanes.push_back(lane_up(request.source));
    for (const TorusDimension& dimension : numbers_.dimensions)
      walk(dimension, destination, choices, at, lanes);
    if (numbers_.hosts_per_switch > 0) lanes.push_back(lane_down(request.destination));
  }

 private:
  // Both ways round are equally long if the distance is half of an even size; then the flow's hash chooses.
  static void walk(const TorusDimension& dimension, std::int32_t destination, Chooser& choices,
                   std::int32_t& at, std::vector<Lane>& lanes) {
    const std::int32_t from = at / dimension.stride % dimension.size;
    const std::int32_t to = destination / dimension.stride % dimension.size;
    std::int32_t up = to - from;  // steps; negative: down
    if (dimension.wraps) {
      const std::int32_t round = up < 0 ? up + dimension.size : up;
      up = round;
      if (!dimension.one_way &&
          (2 * round > dimension.size || (2 * round == dimension.size && choices.choose(2) == 1)))
        up = round - dimension.size;
    }
    for (std::int32_t coordinate = from; up != 0; up += up > 0 ? -1 : 1) {
      const std::int32_t ahead = up > 0 ? coordinate + 1 : coordinate - 1;
      const std::int32_t next = ahead == dimension.size ? 0 : ahead < 0 ? dimension.size - 1 : ahead;
      const std::int32_t there = at + (next - coordinate) * dimension.stride;
      lanes.push_back(up > 0 ? lane_up(dimension.edge(at)) : lane_down(dimension.edge(there)));
      at = there;
      coordinate = next;
    }
  }
};

void check_torus(const TorusShape& shape, std::int64_t vertices_max) {
  double vertices = 1, links = 0;
  for (const std::int32_t size : shape.sizes) vertices *= size;
  for (const std::int32_t size : shape.sizes) links += vertices / size * edges_of_line(size, shape.wrap);
  const double hosts = vertices * std::max(1, shape.hosts_per_switch);
  const bool switched = shape.hosts_per_switch > 0;
  if (shape.one_way && !(shape.wrap && std::ranges::all_of(shape.sizes, [](int size) { return size > 2; })))
    throw UsageError(
        "one_way needs rings: every dimension closed (wrap) and of at least 3; a ring of 2 is one link "
        "with both its directions");
  check_room(hosts, switched ? vertices : 0, switched ? links + hosts : links, vertices_max);
  if (vertices < 2 && !switched)
    throw UsageError("a network of one host has no link; give a dimension of 2 or more, or hosts_per_switch");
}

// The cut by a plane across the longest dimension k: 2 N / k links with wrap, N / k without. One-way rings
// also have N / k in each direction: half of the links crossed lead one way, half the other. For even k no
// balanced cut is narrower (Bollobás and Leader 1991 for both; Dally and Towles 2004, section 5.2.1).
void bisect(const TorusShape& shape, std::int32_t vertices, ClosedForms& forms) {
  const std::int32_t longest = *std::ranges::max_element(shape.sizes);
  if (longest % 2 != 0) return;
  const bool twice = shape.wrap && longest > 2 && !shape.one_way;
  const double plane = static_cast<double>(vertices) / longest * (twice ? 2 : 1) * shape.rate;
  // What all hosts of one half send.
  const double hosts = static_cast<double>(vertices) * shape.hosts_per_switch / 2 * shape.host_rate;
  forms.bisection = shape.hosts_per_switch > 0 ? std::min(plane, hosts) : plane;
  forms.bisection_formula = std::string(twice ? "2 V / k" : "V / k") +
                            " links across the longest dimension k of V vertices, at most what half of the "
                            "hosts send (Dally and Towles 2004, section 5.2)";
}

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

void make_torus(const TorusShape& shape, std::int64_t vertices_max, Network& network) {
  check_torus(shape, vertices_max);
  const TorusNumbers numbers(shape);
  Graph& graph = network.graph;
  const bool switched = shape.hosts_per_switch > 0;
  graph.hosts = numbers.vertices * std::max(1, shape.hosts_per_switch);
  const std::uint16_t link = add_link_class(graph, "link", shape.rate);
  if (shape.one_way) {
    graph.link_classes[link].one_way = true;
    graph.link_classes[link].back_rate = 0;
  }
  const Vertex first = switched ? graph.hosts : 0;
  if (switched) {
    add_switch_class(graph, "switch");
    wire_hosts(graph, shape.hosts_per_switch, add_link_class(graph, "host-link", shape.host_rate));
    for (std::int32_t v = 0; v < numbers.vertices; ++v) add_switch(graph, grid_name(numbers.dimensions, v));
  } else if (HostClass& host = graph.host_classes.front(); host.forwards == Forwarding::no) {
    host.forwards = Forwarding::hardware;
  }
  for (const TorusDimension& dimension : numbers.dimensions) {
    const std::int32_t stride = dimension.stride, block = stride * dimension.size;
    for (std::int32_t start = 0; start < numbers.vertices; start += block)
      for (std::int32_t at = 0; at < dimension.line; ++at)
        for (std::int32_t low = 0; low < stride; ++low)
          graph.edges.push_back({first + start + at * stride + low,
                                 first + start + (at + 1) % dimension.size * stride + low, link});
  }
  count_adapters(graph);
  network.router = std::make_unique<TorusRouter>(numbers, network);
  network.forms.hosts_alike =
      std::ranges::all_of(shape.sizes, [&](std::int32_t size) { return shape.wrap || size <= 2; });
  bisect(shape, numbers.vertices, network.forms);
}

}  // namespace crosscut::networks::generators

CROSSCUT_DEFINE_GENERATOR(torus,
                          {.name = "torus",
                           .summary = "A grid of any dimension, closed to rings (torus) or open (mesh)",
                           .source = "Dally and Towles 2004, chapter 5; SCI's rings in two and three "
                                     "dimensions: Bode, Hill and Benjegerdes 2004; that they go one way: "
                                     "IEEE 1596-1992",
                           .parameters = parameters,
                           .make = make})
