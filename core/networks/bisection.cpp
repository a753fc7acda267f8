#include <algorithm>
#include <limits>

#include "networks/cut_search.hpp"
#include "networks/figures.hpp"
#include "networks/max_flow.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

constexpr std::size_t most_edges = 200'000;
constexpr double most_steps = 2e5;  // links times starts
constexpr int most_random_starts = 100;

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
    if (graph_.is_host(tail) && !is_source(tail))
      return;  // messages that the receiving half forwards do not count
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
