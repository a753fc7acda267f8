// The largest flow between two nodes, by Dinic's algorithm (Dinic 1970; Even and Tarjan 1975).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace crosscut::networks {

class MaxFlow {
 public:
  explicit MaxFlow(std::int32_t nodes) : first_(static_cast<std::size_t>(nodes), -1) {}
  void add(std::int32_t from, std::int32_t to, double capacity) {
    append(from, to, capacity);
    append(to, from, 0);
  }
  double solve(std::int32_t source, std::int32_t sink) {
    constexpr double rounding = 1e-12;
    double largest = 0;
    for (const auto& arc : arcs_) largest = std::max(largest, arc.left);
    smallest_ = largest * rounding;
    double flow = 0;
    while (find_levels(source, sink)) {
      next_ = first_;
      double pushed = 0;
      do {
        pushed = push_one_way(source, sink);
        flow += pushed;
      } while (pushed > 0);
    }
    return flow;
  }

 private:
  struct Arc {
    std::int32_t to, next;  // next: the next arc that leaves the same node
    double left;
  };
  void append(std::int32_t tail, std::int32_t head, double capacity) {
    auto& first = first_[static_cast<std::size_t>(tail)];
    arcs_.push_back({head, first, capacity});
    first = static_cast<std::int32_t>(arcs_.size() - 1);
  }

  bool find_levels(std::int32_t source, std::int32_t sink) {
    level_.assign(first_.size(), -1);
    level_[static_cast<std::size_t>(source)] = 0;
    std::vector<std::int32_t> reached{source};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (auto a = first_[static_cast<std::size_t>(reached[i])]; a >= 0;
           a = arcs_[static_cast<std::size_t>(a)].next) {
        const auto& arc = arcs_[static_cast<std::size_t>(a)];
        auto& its = level_[static_cast<std::size_t>(arc.to)];
        if (its >= 0 || arc.left <= smallest_) continue;
        its = level_[static_cast<std::size_t>(reached[i])] + 1;
        reached.push_back(arc.to);
      }
    }
    return level_[static_cast<std::size_t>(sink)] >= 0;
  }

  // Pushes flow along one path through the levels, without recursion: networks may be long chains.
  double push_one_way(std::int32_t source, std::int32_t sink) {
    std::vector<std::int32_t> way;
    for (auto at = source; at != sink;) {
      auto& a = next_[static_cast<std::size_t>(at)];
      while (a >= 0) {
        const auto& arc = arcs_[static_cast<std::size_t>(a)];
        if (arc.left > smallest_ &&
            level_[static_cast<std::size_t>(arc.to)] == level_[static_cast<std::size_t>(at)] + 1)
          break;
        a = arc.next;
      }
      if (a >= 0) {
        way.push_back(a);
        at = arcs_[static_cast<std::size_t>(a)].to;
      } else if (way.empty()) {
        return 0;
      } else {  // a dead end: never to be entered again
        at = arcs_[static_cast<std::size_t>(way.back() ^ 1)].to;
        next_[static_cast<std::size_t>(at)] = arcs_[static_cast<std::size_t>(way.back())].next;
        way.pop_back();
      }
    }
    double pushed = std::numeric_limits<double>::infinity();
    for (const auto a : way) pushed = std::min(pushed, arcs_[static_cast<std::size_t>(a)].left);
    for (const auto a : way) {
      arcs_[static_cast<std::size_t>(a)].left -= pushed;
      arcs_[static_cast<std::size_t>(a ^ 1)].left += pushed;
    }
    return pushed;
  }

  std::vector<std::int32_t> first_;  // [node] arc
  std::vector<Arc> arcs_;            // an arc and its reverse differ in the last bit
  std::vector<std::int32_t> level_, next_;
  double smallest_ = 0;  // smaller values are rounding errors
};

}  // namespace crosscut::networks
