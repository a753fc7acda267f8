// Max-min fair rates of flows that share capacities.
//
// Progressive filling: all rates grow together until a capacity is full, its flows are fixed at their share,
// the rest goes on (Bertsekas and Gallager, Data Networks, section 6.5.2). The result is the only allocation
// in which no rate can grow without another, no larger one, shrinking.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "networks/radix_queue.hpp"

namespace crosscut::networks {

// The flows of one moment, each with the capacities it passes: compressed rows. A capacity may occur twice in
// a row; it then counts twice.
struct FlowTable {
  std::vector<std::int64_t> first{0};  // [flow + 1] into `uses`
  std::vector<std::int32_t> uses;
  std::size_t flows() const { return first.size() - 1; }
  std::span<const std::int32_t> row(std::size_t flow) const {
    const auto from = static_cast<std::size_t>(first[flow]), to = static_cast<std::size_t>(first[flow + 1]);
    return std::span(uses).subspan(from, to - from);
  }
  void clear() {
    first.assign(1, 0);
    uses.clear();
  }
  // Ends the row of the uses appended since the last.
  void end_row() { first.push_back(static_cast<std::int64_t>(uses.size())); }
};

// Solves again and again over the same capacities without taking memory anew; its work is proportional to the
// uses, not to the capacities of the network. Not for several threads at once. The same table gives the same
// bits.
class MaxMin {
 public:
  // Per second; infinity: no bound.
  explicit MaxMin(std::span<const double> capacities = {}) { reset(capacities); }
  void reset(std::span<const double> capacities);
  // Leaves out the capacities that a flow has for itself at the moment: rates are then shares of what is in
  // common, infinity where nothing is, and own_bounds() says what was left out (contention.hpp).
  void lift_own(bool lifted) { lifted_ = lifted; }
  // rates: [flow], in the capacities' unit. A flow that passes no finite capacity gets infinity.
  // weights: [flow], above 0; a flow gets that many shares of a capacity where one of weight 1 gets one, and
  // what is made fair is rate over weight, as weighted fair queueing does on one link (Parekh and Gallager
  // 1993). Empty: all weigh 1. Throws UsageError for a table of more than 2^31 uses.
  void solve(const FlowTable& flows, std::span<double> rates, std::span<const double> weights = {});
  // [flow] index of the capacity that fixed it, -1: none. Of the last solve.
  std::span<const std::int32_t> bottlenecks() const { return bottlenecks_; }
  // [flow] the smallest capacity that it has for itself, infinity: none. Where they are lifted.
  std::span<const double> own_bounds() const { return own_bounds_; }

 private:
  using Local = std::int32_t;  // capacities that several flows of the table use, in order of first use
  // Of a capacity of the network; of this solve where the epoch is.
  struct Mark {
    double capacity = 0;
    std::uint32_t epoch = 0;
    std::int32_t uses = 0;  // while rows are looked at: ~local once it has one
  };
  struct Filling {
    double left = 0;         // of the capacity, after the flows that are fixed
    std::int32_t uses = 0;   // by flows that are not
    std::int32_t first = 0;  // into members_
  };

  void count_uses(const FlowTable& flows);
  void keep_what_may_bind(const FlowTable& flows, std::span<double> rates);
  void keep_row(std::span<const std::int32_t> row, std::size_t flow, std::span<double> rates);
  Local number(std::int32_t capacity, std::int32_t uses);
  void list_members();
  template <bool weighted>
  double share_of(std::size_t local) const;  // for each, or each unit of weight, that is not fixed yet
  void weigh();
  template <bool weighted>
  void fill(std::span<double> rates);
  template <bool weighted>
  void fix(Local full, double share, std::span<double> rates);

  bool lifted_ = false;
  std::vector<std::int32_t> bottlenecks_;
  std::vector<double> own_bounds_;  // [flow]; empty unless lifted
  std::vector<Mark> marks_;         // [capacity]
  std::uint32_t epoch_ = 0;
  std::vector<Filling> filling_;           // [local]
  std::vector<std::int32_t> capacity_of_;  // [local]
  std::vector<std::int32_t> kept_first_;   // [flow + 1] into kept_
  std::vector<Local> kept_;                // uses that may bind
  std::vector<std::int32_t> members_;      // flows by capacity, each once for a use
  std::vector<std::int32_t> members_end_;  // [local]
  std::span<const double> weights_;        // [flow] of the solve in progress
  std::vector<double> weight_left_;        // [local] of flows that are not fixed; where flows have weights
  RadixQueue queue_;                       // capacities by their share when last looked at: never too large
};

}  // namespace crosscut::networks
