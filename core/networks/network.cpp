#include "networks/network.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double bits_per_byte = 8;

// Ranks of one host divide its adapters among themselves; if there are too few, ranks share an adapter.
int adapters_of_a_rank(int adapters, int ranks_on_host) {
  return std::max(1, adapters / std::max(1, ranks_on_host));
}

// Returns a link's payload bytes per second. The error's text is built only if needed: numbering a million
// links must be fast.
double payload(double bits_per_second, const LinkClass& link, double efficiency) {
  if (!(bits_per_second > 0)) throw UsageError("the rate of link class " + link.name + " is not above 0");
  return bits_per_second / bits_per_byte * efficiency;
}

}  // namespace

std::string Graph::name(Vertex v) const {
  constexpr std::size_t fewest_digits = 4;
  // Names of equal length sort in numerical order, even in programs that sort as text.
  const auto digits = [](Vertex count) { return std::to_string(count - 1).size(); };
  const auto at = static_cast<std::size_t>(is_host(v) ? v : v - hosts);
  if (const auto& names = is_host(v) ? host_names : switch_names; at < names.size()) return names[at];
  return is_host(v) ? "n" + padded(v, std::max(fewest_digits, digits(hosts)))
                    : "switch" + padded(v - hosts, digits(switches));
}

void Network::finish() {
  if (graph.hosts < 1) throw UsageError("there is no host");
  if (!router) router = std::make_unique<ShortestPaths>(graph, spread, seed);
  const auto lanes = 2 * graph.edges.size();
  const auto memories =
      std::ranges::any_of(graph.host_classes, [](const HostClass& c) { return c.memory_rate > 0; });
  if (lanes + 2 * static_cast<std::size_t>(graph.switches) + static_cast<std::size_t>(graph.hosts) >
      static_cast<std::size_t>(std::numeric_limits<CapacityIndex>::max()))
    throw UsageError("there are too many links to number");
  capacities_.assign(lanes, unbounded);
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    const auto& link = graph.link(static_cast<Lane>(2 * edge));
    capacities_[2 * edge] = payload(link.rate, link, protocol.efficiency);
    // The second direction is unused if the link is half-duplex (path() counts both directions on the first)
    // or one-way.
    if (!link.half_duplex && !link.one_way)
      capacities_[2 * edge + 1] = payload(link.back_rate, link, protocol.efficiency);
  }
  number_steps();
  capacity_owner_.clear();
  switch_capacity_.clear();
  memory_capacity_.clear();
  const auto add = [&](double bytes_per_second, Vertex owner) {
    capacities_.push_back(bytes_per_second);
    capacity_owner_.push_back(owner);
    return static_cast<CapacityIndex>(capacities_.size() - 1);
  };
  if (std::ranges::any_of(graph.switch_classes, [](const SwitchClass& c) { return c.capacity > 0; }))
    switch_capacity_.assign(static_cast<std::size_t>(graph.switches), {-1, -1});
  for (Vertex s = 0; s < graph.switches && !switch_capacity_.empty(); ++s) {
    const auto& its = graph.switch_of(graph.hosts + s);
    if (its.capacity <= 0) continue;
    auto& [in, out] = switch_capacity_[static_cast<std::size_t>(s)];
    in = add(its.capacity / bits_per_byte * protocol.efficiency, graph.hosts + s);
    if (its.bounds == Bounds::host_facing)
      out = add(its.capacity / bits_per_byte * protocol.efficiency, graph.hosts + s);
  }
  if (!memories) return;
  memory_capacity_.assign(static_cast<std::size_t>(graph.hosts), -1);
  for (Vertex host = 0; host < graph.hosts; ++host) {
    // Within a host there are no frames or headers.
    const double rate = graph.host(host).memory_rate;
    if (rate > 0) memory_capacity_[static_cast<std::size_t>(host)] = add(rate / bits_per_byte, host);
  }
}

void Network::number_steps() {
  steps_.clear();
  step_of_.clear();
  if (std::ranges::any_of(graph.switch_classes, [](const SwitchClass& c) { return c.capacity > 0; })) return;
  const auto classes = graph.host_classes.size() + graph.switch_classes.size();
  if (graph.link_classes.size() * classes > std::numeric_limits<std::uint16_t>::max()) return;
  for (const LinkClass& link : graph.link_classes) {
    const CapacityIndex direction = link.half_duplex ? ~1 : ~0;
    for (const HostClass& host : graph.host_classes)
      steps_.push_back({link.latency, host.forward_latency, direction});
    for (const SwitchClass& its : graph.switch_classes)
      steps_.push_back({link.latency, its.latency, direction});
  }
  const auto class_of = [this](Vertex v) -> std::size_t {
    if (graph.is_host(v)) return graph.host_class.empty() ? 0 : graph.host_class[static_cast<std::size_t>(v)];
    const auto at = static_cast<std::size_t>(v - graph.hosts);
    return graph.host_classes.size() + (graph.switch_class.empty() ? 0u : graph.switch_class[at]);
  };
  step_of_.reserve(2 * graph.edges.size());
  for (const Edge& edge : graph.edges) {
    step_of_.push_back(static_cast<std::uint16_t>(edge.link_class * classes + class_of(edge.b)));
    step_of_.push_back(static_cast<std::uint16_t>(edge.link_class * classes + class_of(edge.a)));
  }
}

double Network::path_by_steps(std::span<const Lane> lanes, std::vector<CapacityIndex>& uses) const {
  double seconds = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Step& step = steps_[step_of_[static_cast<std::size_t>(lanes[i])]];
    uses.push_back(lanes[i] & step.direction);
    seconds += step.link_latency;
    if (i + 1 < lanes.size()) seconds += step.head_latency;
  }
  return seconds;
}

std::string Network::capacity_name(CapacityIndex index) const {
  const auto lanes = static_cast<CapacityIndex>(2 * graph.edges.size());
  if (index < 0 || index >= static_cast<CapacityIndex>(capacities_.size())) return "no capacity";
  if (index < lanes) {
    const char* arrow = graph.link(index).half_duplex ? " <-> " : " -> ";
    return graph.name(graph.tail(index)) + arrow + graph.name(graph.head(index));
  }
  const Vertex owner = capacity_owner_[static_cast<std::size_t>(index - lanes)];
  if (graph.is_host(owner)) return "memory of " + graph.name(owner);
  if (graph.switch_of(owner).bounds == Bounds::through) return graph.name(owner);
  const bool is_in = switch_capacity_[static_cast<std::size_t>(owner - graph.hosts)].first == index;
  return graph.name(owner) + (is_in ? " from its hosts" : " to its hosts");
}

double Network::path(const RouteRequest& request, std::vector<CapacityIndex>& uses) const {
  if (request.source == request.destination) {
    if (!memory_capacity_.empty()) {
      const auto memory = memory_capacity_[static_cast<std::size_t>(request.source)];
      if (memory >= 0) uses.push_back(memory);
    }
    return graph.host(request.source).memory_latency;
  }
  thread_local std::vector<Lane> lanes;  // reused: a phase requests a route for every message
  lanes.clear();
  router->route(request, lanes);
  if (!step_of_.empty()) return path_by_steps(lanes, uses);
  double seconds = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const auto& link = graph.link(lanes[i]);
    uses.push_back(link.half_duplex ? lanes[i] & ~1 : lanes[i]);
    seconds += link.latency;
    if (i + 1 == lanes.size()) break;
    const Vertex between = graph.head(lanes[i]);
    if (graph.is_host(between)) {
      seconds += graph.host(between).forward_latency;
      continue;
    }
    const auto& its = graph.switch_of(between);
    seconds += its.latency;
    if (its.capacity <= 0) continue;
    const auto [in, out] = switch_capacity_[static_cast<std::size_t>(between - graph.hosts)];
    const bool facing_only = its.bounds == Bounds::host_facing;
    if (!facing_only || graph.is_host(graph.tail(lanes[i]))) uses.push_back(in);
    if (facing_only && graph.is_host(graph.head(lanes[i + 1]))) uses.push_back(out);
  }
  return seconds;
}

int Network::rails(int ranks_on_host) const {
  int fewest = std::numeric_limits<int>::max();
  for (const HostClass& its : graph.host_classes)
    fewest = std::min(fewest, its.forwards == Forwarding::no
                                  ? adapters_of_a_rank(std::max(1, its.adapters), ranks_on_host)
                                  : 1);
  return fewest;
}

int Network::adapter(Vertex host, int rank_on_host, int ranks_on_host, int rail) const {
  const int adapters = std::max(1, graph.host(host).adapters);
  if (adapters == 1) return 0;
  const int own = adapters_of_a_rank(adapters, ranks_on_host);
  const auto first = static_cast<std::int64_t>(rank_on_host) * adapters / std::max(1, ranks_on_host);
  return static_cast<int>((first + rail % own) % adapters);
}

}  // namespace crosscut::networks
