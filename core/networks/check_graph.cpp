// Checks that every network must pass.
#include <algorithm>
#include <map>
#include <numeric>

#include "base/words.hpp"
#include "networks/explicit_graph.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

// Union-find with path halving.
class Parts {
 public:
  explicit Parts(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), Vertex{0}); }
  Vertex of(Vertex v) {
    while (parent_[static_cast<std::size_t>(v)] != v) {
      auto& up = parent_[static_cast<std::size_t>(v)];
      up = parent_[static_cast<std::size_t>(up)];
      v = up;
    }
    return v;
  }
  void join(Vertex a, Vertex b) { parent_[static_cast<std::size_t>(of(a))] = of(b); }

 private:
  std::vector<Vertex> parent_;
};

bool passes(const Graph& graph, Vertex v) {
  return !graph.is_host(v) || graph.host(v).forwards != Forwarding::no;
}

void check_ports(const Graph& graph, const Adjacency& adjacency, const Lines& lines, Mistakes& mistakes) {
  for (Vertex v = graph.hosts; v < graph.vertices(); ++v) {
    const auto ports = graph.switch_of(v).ports;
    const auto wired = adjacency.leaving(v).size();
    if (ports > 0 && wired > static_cast<std::size_t>(ports))
      mistakes.add(lines.of(v), graph.name(v) + " has " + std::to_string(ports) + " ports, but " +
                                    std::to_string(wired) + " links");
    if (mistakes.full()) return;
  }
}

// Returns the connected parts that each host touches. A wire between two hosts that do not forward is a part
// of its own, numbered after the vertices.
std::vector<Vertex> parts_of(const Graph& graph, const Adjacency& adjacency, Vertex host, Parts& parts) {
  std::vector<Vertex> touched;
  if (passes(graph, host)) return {parts.of(host)};
  for (const Lane lane : adjacency.leaving(host)) {
    const Vertex next = graph.head(lane);
    touched.push_back(passes(graph, next) ? parts.of(next) : graph.vertices() + lane / 2);
  }
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

bool meet(const std::vector<Vertex>& a, const std::vector<Vertex>& b) {
  for (auto left = a.begin(), right = b.begin(); left != a.end() && right != b.end();) {
    if (*left == *right) return true;
    ++(*left < *right ? left : right);
  }
  return false;
}

void check_reach(const Graph& graph, const Adjacency& adjacency, const Lines& lines, Mistakes& mistakes) {
  constexpr std::size_t most_compared = 2000;  // sets of parts touched; nearly every network has only one
  Parts parts(static_cast<std::size_t>(graph.vertices()));
  for (const Edge& edge : graph.edges)
    if (passes(graph, edge.a) && passes(graph, edge.b)) parts.join(edge.a, edge.b);
  std::map<std::vector<Vertex>, Vertex> kinds;  // parts touched -> the first such host
  for (Vertex host = 0; host < graph.hosts && kinds.size() < most_compared; ++host) {
    auto touched = parts_of(graph, adjacency, host, parts);
    if (touched.empty() || kinds.contains(touched)) continue;  // no link: reported already
    for (const auto& [theirs, other] : kinds) {
      if (meet(theirs, touched)) continue;
      mistakes.add(lines.of(host),
                   "no path leads from " + graph.name(other) + " to " + graph.name(host) +
                       "; wire their switches, or let hosts between them forward (forwards = \"ip\")");
      return;
    }
    kinds.emplace(std::move(touched), host);
  }
}

}  // namespace

void check_graph(const Graph& graph, const Lines& lines, Mistakes& mistakes) {
  if (graph.hosts < 1) return mistakes.add(lines.whole, "there is no host; write [[hosts]] or [generator]");
  const Adjacency adjacency(graph, true);  // ignores direction: generators keep one-way rings whole
  for (Vertex host = 0; host < graph.hosts && graph.hosts > 1; ++host) {
    if (adjacency.leaving(host).empty())
      mistakes.add(lines.of(host),
                   "host " + graph.name(host) + " has no link; list it in `between` of a [[links]] entry");
    if (mistakes.full()) return;
  }
  check_ports(graph, adjacency, lines, mistakes);
  check_reach(graph, adjacency, lines, mistakes);
}

}  // namespace crosscut::networks
