// Computes the capacity of the worst cut into halves, in closed form or by a search.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <queue>

#include "base/random.hpp"
#include "networks/figures.hpp"
#include "networks/max_flow.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

constexpr std::size_t most_edges = 200'000;
constexpr double most_steps = 2e5;  // links times starts
constexpr int most_random_starts = 100;

using Side = std::uint8_t;  // 0 or 1

constexpr double both_directions(const LinkClass& link) {
  return link.half_duplex ? link.rate : (link.rate + link.back_rate) / 2;
}

class Refinement {
 public:
  Refinement(const Graph& graph, const Adjacency& adjacency, std::vector<Side>& sides)
      : graph_(graph),
        adjacency_(adjacency),
        sides_(sides),
        gain_(sides.size()),
        moved_(sides.size(), false) {
    for (Vertex host = 0; host < graph.hosts; ++host) on_first_ += at(host) == 0 ? 1 : 0;
  }

  // Runs one round in which every vertex moves at most once. Returns true if the cut shrank.
  bool pass() {
    moved_.assign(moved_.size(), false);
    for (auto& heap : heaps_) heap = {};
    for (Vertex v = 0; v < graph_.vertices(); ++v) put(v, gain_of(v));
    std::vector<Vertex> moves;
    double change = 0, best = 0;
    std::size_t kept = 0;
    while (const auto next = choose()) {
      const Vertex v = *next;
      change += gain_[static_cast<std::size_t>(v)];
      move(v);
      moves.push_back(v);
      const bool is_halved = on_first_ == graph_.hosts / 2 || on_first_ == graph_.hosts - graph_.hosts / 2;
      if (is_halved && change > best * (1 + 1e-9) + 1e-9) {
        best = change;
        kept = moves.size();
      }
    }
    for (auto i = moves.size(); i > kept; --i) flip(moves[i - 1]);
    return kept > 0;
  }

 private:
  struct Offer {
    double gain;
    Vertex v;
    bool operator<(const Offer& other) const { return std::pair(gain, -v) < std::pair(other.gain, -other.v); }
  };

  Side at(Vertex v) const { return sides_[static_cast<std::size_t>(v)]; }

  double gain_of(Vertex v) const {
    double gain = 0;
    for (const Lane lane : adjacency_.leaving(v)) {
      const double rate = both_directions(graph_.link(lane));
      gain += at(graph_.head(lane)) == at(v) ? -rate : rate;
    }
    return gain;
  }

  // Sides 0 and 1 hold hosts; 2 holds switches, which may always move.
  std::size_t heap_of(Vertex v) const { return graph_.is_host(v) ? at(v) : 2; }

  void put(Vertex v, double gain) {
    gain_[static_cast<std::size_t>(v)] = gain;
    heaps_[heap_of(v)].push({gain, v});
  }

  std::optional<Vertex> choose() {
    const Vertex half = graph_.hosts / 2;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < heaps_.size(); ++i) {
      auto& heap = heaps_[i];
      while (!heap.empty() && (moved_[static_cast<std::size_t>(heap.top().v)] ||
                               heap.top().gain != gain_[static_cast<std::size_t>(heap.top().v)]))
        heap.pop();
      // For a while, one side may hold one host more than half.
      if (heap.empty() || (i == 0 && on_first_ < half) || (i == 1 && on_first_ > half)) continue;
      if (!best || heaps_[*best].top() < heap.top()) best = i;
    }
    if (!best) return std::nullopt;
    return heaps_[*best].top().v;
  }

  void flip(Vertex v) {
    auto& side = sides_[static_cast<std::size_t>(v)];
    if (graph_.is_host(v)) on_first_ += side == 0 ? -1 : 1;
    side = static_cast<Side>(1 - side);
  }

  void move(Vertex v) {
    flip(v);
    moved_[static_cast<std::size_t>(v)] = true;
    for (const Lane lane : adjacency_.leaving(v)) {
      const Vertex other = graph_.head(lane);
      if (moved_[static_cast<std::size_t>(other)]) continue;
      const double rate = both_directions(graph_.link(lane));
      put(other, gain_[static_cast<std::size_t>(other)] + (at(other) == at(v) ? -2 * rate : 2 * rate));
    }
  }

  const Graph& graph_;
  const Adjacency& adjacency_;
  std::vector<Side>& sides_;
  std::vector<double> gain_;
  std::vector<bool> moved_;
  std::array<std::priority_queue<Offer>, 3> heaps_;
  Vertex on_first_ = 0;
};

// Puts each switch on the side of most of its neighbours, from the hosts upwards.
std::vector<Side> with_switches(const Graph& graph, const Adjacency& adjacency,
                                const std::vector<Vertex>& order) {
  std::vector<Side> sides(static_cast<std::size_t>(graph.vertices()), 0);
  for (std::size_t i = order.size() / 2; i < order.size(); ++i) sides[static_cast<std::size_t>(order[i])] = 1;
  std::vector<bool> placed(sides.size(), false);
  std::fill(placed.begin(), placed.begin() + graph.hosts, true);
  for (Vertex v = graph.hosts; v < graph.vertices(); ++v) {
    std::int64_t first = 0, second = 0;
    for (const Lane lane : adjacency.leaving(v)) {
      const auto other = static_cast<std::size_t>(graph.head(lane));
      if (placed[other]) ++(sides[other] == 0 ? first : second);
    }
    sides[static_cast<std::size_t>(v)] = second > first ? 1 : 0;
    placed[static_cast<std::size_t>(v)] = true;
  }
  return sides;
}

// Moves single vertices between the sides as long as the cut shrinks, and returns the smallest cut with equal
// halves of hosts in `sides` (Fiduccia and Mattheyses 1982; switches have no weight and may be on either
// side). sides: [vertex], with the hosts halved.
void refine_cut(const Graph& graph, const Adjacency& adjacency, std::vector<Side>& sides) {
  constexpr int most_passes = 12;
  Refinement refinement(graph, adjacency, sides);
  for (int pass = 0; pass < most_passes && refinement.pass(); ++pass) {
  }
}

// Returns partitions worth refining: hosts in their order; and groups, hosts of a switch, or single hosts in
// random orders (the same every time).
std::vector<std::vector<Side>> cut_starts(const Graph& graph, const Adjacency& adjacency, int random_starts) {
  std::vector<Vertex> order(static_cast<std::size_t>(graph.hosts));
  std::iota(order.begin(), order.end(), Vertex{0});
  std::vector<std::vector<Side>> starts{with_switches(graph, adjacency, order)};
  const auto switch_of = [&](Vertex host) {
    const auto leaving = adjacency.leaving(host);
    return leaving.empty() ? host : graph.head(leaving[0]);
  };
  for (int i = 0; i < random_starts; ++i) {
    auto place = order;
    Random random = random_stream(1, static_cast<std::uint64_t>(i));
    // Units kept together in turn: groups, the hosts of a switch, single hosts.
    const bool by_group = i % 3 == 0 && !graph.group.empty(), by_host = i % 3 == 2;
    std::vector<std::uint64_t> key(static_cast<std::size_t>(graph.vertices()) + 1);
    for (auto& each : key) each = random.next();
    const auto groups = key.size();
    std::ranges::stable_sort(place, {}, [&](Vertex host) {
      auto its = static_cast<std::size_t>(by_host ? host : switch_of(host));
      if (by_group) its = static_cast<std::size_t>(graph.group[static_cast<std::size_t>(host)]) % groups;
      return std::pair(key[its], its);
    });
    starts.push_back(with_switches(graph, adjacency, place));
  }
  return starts;
}

// Returns the capacity of a link in one direction when both are full: a capacity that both directions share
// counts half.
double one_way(const LinkClass& link, bool back) {
  if (link.half_duplex) return link.rate / 2;
  return back ? link.back_rate : link.rate;
}

// Nodes of the flow graph: one for all hosts of each half, and four in a row for each switch. These are where
// its hosts' messages enter, where all messages have entered, where they begin to leave, and where they leave
// to its hosts.
class HalfToHalf {
 public:
  HalfToHalf(const Graph& graph, const std::vector<Side>& sides, Side from)
      : graph_(graph), sides_(sides), from_(from), flow_(2 + 4 * graph.switches) {
    for (const Edge& edge : graph.edges) {
      const auto& link = graph.link_classes[edge.link_class];
      unbounded_ += link.rate + link.back_rate;
    }
    for (Vertex v = graph.hosts; v < graph.vertices(); ++v) add_switch(v);
    for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
      const auto lane = static_cast<Lane>(2 * edge);
      add_lane(lane, one_way(graph.link(lane), false));
      add_lane(lane + 1, one_way(graph.link(lane), true));
    }
  }
  double largest() { return flow_.solve(0, 1); }

 private:
  enum Part : std::uint8_t { from_hosts, in, out, to_hosts };
  std::int32_t of_switch(Vertex v, Part part) const { return 2 + 4 * (v - graph_.hosts) + part; }

  void add_switch(Vertex v) {
    const auto& its = graph_.switch_of(v);
    const bool facing = its.capacity > 0 && its.bounds == Bounds::host_facing;
    const bool through = its.capacity > 0 && its.bounds == Bounds::through;
    flow_.add(of_switch(v, from_hosts), of_switch(v, in), facing ? its.capacity : unbounded_);
    flow_.add(of_switch(v, in), of_switch(v, out), through ? its.capacity / 2 : unbounded_);
    flow_.add(of_switch(v, out), of_switch(v, to_hosts), facing ? its.capacity : unbounded_);
  }

  void add_lane(Lane lane, double rate) {
    const Vertex tail = graph_.tail(lane), head = graph_.head(lane);
    const auto is_source = [&](Vertex v) { return sides_[static_cast<std::size_t>(v)] == from_; };
    // Messages that the receiving half forwards do not count.
    if (graph_.is_host(tail) && !is_source(tail)) return;
    if (graph_.is_host(head) && is_source(head)) return;
    const auto leaving = graph_.is_host(tail) ? 0 : of_switch(tail, graph_.is_host(head) ? to_hosts : out);
    const auto entered = graph_.is_host(head) ? 1 : of_switch(head, graph_.is_host(tail) ? from_hosts : in);
    flow_.add(leaving, entered, rate);
  }

  const Graph& graph_;
  const std::vector<Side>& sides_;
  Side from_;
  MaxFlow flow_;
  double unbounded_ = 0;  // more than all links carry together
};

double between(const Graph& graph, const std::vector<Side>& sides) {
  double least = std::numeric_limits<double>::infinity();
  for (const Side from : {Side{0}, Side{1}})
    least = std::min(least, HalfToHalf(graph, sides, from).largest());
  return least;
}

double best_cut(const Graph& graph) {
  const Adjacency adjacency(graph, true);
  const auto affordable = most_steps / static_cast<double>(graph.edges.size() + 1);
  const int starts = static_cast<int>(std::clamp(affordable, 0.0, static_cast<double>(most_random_starts)));
  double least = std::numeric_limits<double>::infinity();
  for (auto& sides : cut_starts(graph, adjacency, starts)) {
    least = std::min(least, between(graph, sides));
    refine_cut(graph, adjacency, sides);
    least = std::min(least, between(graph, sides));
  }
  return least;
}

double rate_of_a_host(const Graph& graph) {
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    const Edge& its = graph.edges[edge];
    if (graph.is_host(its.a)) return graph.link_classes[its.link_class].rate;
    if (graph.is_host(its.b)) return graph.link_classes[its.link_class].back_rate;
  }
  return 0;
}

}  // namespace

std::optional<Bisection> bisection(const Network& network) {
  const Graph& graph = network.graph;
  if (graph.hosts < 2) return std::nullopt;
  Bisection result;
  if (network.forms.bisection) {
    result.bits_per_second = *network.forms.bisection;
    result.formula = network.forms.bisection_formula;
    result.is_closed_form = true;
  } else {
    if (graph.edges.size() > most_edges) return std::nullopt;
    result.bits_per_second = best_cut(graph);
    result.formula = "best cut found (Fiduccia and Mattheyses, then largest flow): an upper bound";
  }
  result.per_host = result.bits_per_second / graph.hosts;
  const auto hosts_of_half = graph.hosts / 2;
  result.per_host_of_half = result.bits_per_second / hosts_of_half;
  const double link = rate_of_a_host(graph);
  if (link > 0) result.in_links = result.bits_per_second / link;
  return result;
}

}  // namespace crosscut::networks
