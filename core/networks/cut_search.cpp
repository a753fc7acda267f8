#include "networks/cut_search.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <queue>

#include "base/random.hpp"

namespace crosscut::networks {
namespace {

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

}  // namespace

void refine_cut(const Graph& graph, const Adjacency& adjacency, std::vector<Side>& sides) {
  constexpr int most_passes = 12;
  Refinement refinement(graph, adjacency, sides);
  for (int pass = 0; pass < most_passes && refinement.pass(); ++pass) {
  }
}

std::vector<std::vector<Side>> cut_starts(const Graph& graph, const Adjacency& adjacency, int random_starts) {
  std::vector<Vertex> order(static_cast<std::size_t>(graph.hosts));
  std::iota(order.begin(), order.end(), Vertex{0});
  std::vector<std::vector<Side>> starts{with_switches(graph, adjacency, order)};
  // Keep hosts of one group together, then hosts of one switch.
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

}  // namespace crosscut::networks
