#include "networks/generators/torus.hpp"
#include "networks/generators/torus_router.hpp"

namespace crosscut::networks::generators {
namespace {

void check_torus(const TorusShape& shape, std::int64_t vertices_max) {
  double vertices = 1, links = 0;
  for (const std::int32_t size : shape.sizes) vertices *= size;
  for (const std::int32_t size : shape.sizes) links += vertices / size * lines_edges(size, shape.wrap);
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

std::string coordinates(const TorusNumbers& numbers, std::int32_t vertex) {
  std::string text;
  for (const TorusDimension& dimension : numbers.dimensions)
    text += (text.empty() ? "" : ".") + std::to_string(vertex / dimension.stride % dimension.size);
  return text;
}

// The same cut as a plane across the longest dimension: 2 N / k links with wrap, N / k without; also N / k in
// each direction where rings go one way, of which half the links crossed lead here, half there. For an even k
// no balanced cut is narrower (Bollobás and Leader 1991 for both; Dally and Towles 2004, section 5.2.1).
void bisect(const TorusShape& shape, std::int32_t vertices, ClosedForms& forms) {
  const std::int32_t longest = *std::ranges::max_element(shape.sizes);
  if (longest % 2 != 0) return;
  const bool twice = shape.wrap && longest > 2 && !shape.one_way;
  const double plane = static_cast<double>(vertices) / longest * (twice ? 2 : 1) * shape.rate;
  const double hosts =
      static_cast<double>(vertices) * shape.hosts_per_switch / 2 * shape.host_rate;  // all of one half
  forms.bisection = shape.hosts_per_switch > 0 ? std::min(plane, hosts) : plane;
  forms.bisection_formula = std::string(twice ? "2 V / k" : "V / k") +
                            " links across the longest dimension k of V vertices, at most what half of the "
                            "hosts send (Dally and Towles 2004, section 5.2)";
}

}  // namespace

TorusNumbers::TorusNumbers(const TorusShape& shape) : hosts_per_switch(shape.hosts_per_switch) {
  vertices = 1;
  for (const std::int32_t size : shape.sizes) {
    dimensions.push_back({.size = size,
                          .stride = vertices,
                          .line = lines_edges(size, shape.wrap),
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

void make_torus(const TorusShape& shape, std::int64_t vertices_max, Network& network) {
  check_torus(shape, vertices_max);
  const TorusNumbers numbers(shape);
  Graph& graph = network.graph;
  const bool switched = shape.hosts_per_switch > 0;
  graph.hosts = numbers.vertices * std::max(1, shape.hosts_per_switch);
  graph.switches = switched ? numbers.vertices : 0;
  const std::uint16_t link = add_link_class(graph, "link", shape.rate);
  if (shape.one_way) {
    graph.link_classes[link].one_way = true;
    graph.link_classes[link].back_rate = 0;
  }
  const Vertex first = switched ? graph.hosts : 0;
  if (switched) {
    add_switch_class(graph, "switch");
    wire_hosts(graph, shape.hosts_per_switch, add_link_class(graph, "host-link", shape.host_rate));
    for (std::int32_t v = 0; v < numbers.vertices; ++v)
      graph.switch_names.push_back("switch" + coordinates(numbers, v));
    graph.level.assign(static_cast<std::size_t>(numbers.vertices), 0);
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
  network.router = make_torus_router(numbers, network.spread, network.seed);
  network.forms.hosts_alike =
      std::ranges::all_of(shape.sizes, [&](std::int32_t size) { return shape.wrap || size <= 2; });
  bisect(shape, numbers.vertices, network.forms);
}

}  // namespace crosscut::networks::generators
