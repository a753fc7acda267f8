// The largest flow between two nodes, by Dinic's algorithm (Dinic 1970; Even and Tarjan 1975).
#pragma once

#include <cstdint>
#include <vector>

namespace crosscut::networks {

class MaxFlow {
 public:
  explicit MaxFlow(std::int32_t nodes) : first_(static_cast<std::size_t>(nodes), -1) {}
  // `back`: capacity of the other direction.
  void add(std::int32_t from, std::int32_t to, double capacity, double back = 0);
  double solve(std::int32_t source, std::int32_t sink);

 private:
  struct Arc {
    std::int32_t to, next;  // next: the next arc that leaves the same node
    double left;
  };
  void append(std::int32_t tail, std::int32_t head, double capacity);
  bool find_levels(std::int32_t source, std::int32_t sink);
  double push_one_way(std::int32_t source, std::int32_t sink);

  std::vector<std::int32_t> first_;  // [node] arc
  std::vector<Arc> arcs_;            // an arc and its reverse differ in the last bit
  std::vector<std::int32_t> level_, next_;
  double smallest_ = 0;  // smaller values are rounding errors
};

}  // namespace crosscut::networks
