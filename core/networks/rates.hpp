// Max-min fair rates of flows that share capacities.
//
// Progressive filling: all rates grow together until a capacity is full; its flows are fixed at their share,
// and the others continue (Bertsekas and Gallager, Data Networks, section 6.5.2). The result is the only
// allocation in which no rate can grow without shrinking another that is no larger.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "networks/radix_queue.hpp"

namespace crosscut::networks {

// The flows at one moment, each with the capacities it passes, as compressed rows. A capacity that occurs
// twice in one row counts twice.
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
  // Ends the row of uses appended since the last call.
  void end_row() { first.push_back(static_cast<std::int64_t>(uses.size())); }
};

// Solves repeatedly over the same capacities without allocating. The work is proportional to the uses, not to
// the network's capacities. Not thread-safe. The same table gives the same bits.
class MaxMin {
 public:
  // Capacities are per second; infinity: no bound.
  explicit MaxMin(std::span<const double> capacities = {}) { reset(capacities); }
  void reset(std::span<const double> capacities);
  // If set, leaves out the capacities that only one flow uses at the moment. Rates are then shares of the
  // common capacities, infinite if there are none, and own_bounds() returns those left out (contention.hpp).
  void lift_own(bool lifted) { lifted_ = lifted; }
  // Solves for `rates`: [flow], in the capacities' unit; a flow that passes no finite capacity gets infinity.
  // weights: [flow], above 0; a flow of weight w gets w shares of a capacity where a flow of weight 1 gets
  // one. The fair quantity is rate over weight, as in weighted fair queueing on one link (Parekh and Gallager
  // 1993). Empty: all weights are 1. Throws UsageError for a table of more than 2^31 uses.
  void solve(const FlowTable& flows, std::span<double> rates, std::span<const double> weights = {});
  // Returns the index of the capacity that fixed each flow in the last solve, [flow]; -1: none.
  std::span<const std::int32_t> bottlenecks() const { return bottlenecks_; }
  // Returns the smallest capacity that each flow has for itself, [flow]; infinity: none. Valid if lifted.
  std::span<const double> own_bounds() const { return own_bounds_; }

 private:
  using Local = std::int32_t;  // numbers capacities used by several flows, in order of first use
  // State of a network's capacity; it belongs to this solve if the epoch matches.
  struct Mark {
    double capacity = 0;
    std::uint32_t epoch = 0;
    std::int32_t uses = 0;  // while rows are read; ~local once it has a number
  };
  struct Filling {
    double left = 0;         // capacity left by the fixed flows
    std::int32_t uses = 0;   // uses by flows not yet fixed
    std::int32_t first = 0;  // into members_
  };

  void count_uses(const FlowTable& flows);
  void keep_what_may_bind(const FlowTable& flows, std::span<double> rates);
  void keep_row(std::span<const std::int32_t> row, std::size_t flow, std::span<double> rates);
  Local number(std::int32_t capacity, std::int32_t uses);
  void list_members();
  template <bool weighted>
  double share_of(std::size_t local) const;  // for each flow, or unit of weight, not yet fixed
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
  std::vector<Local> numbers_;             // [local] itself: locals as a range
  std::vector<std::int32_t> capacity_of_;  // [local]
  std::vector<std::int32_t> kept_first_;   // [flow + 1] into kept_
  std::vector<Local> kept_;                // uses that may bind
  std::vector<std::int32_t> members_;      // flows by capacity, each once for a use
  std::vector<std::int32_t> members_end_;  // [local]
  std::span<const double> weights_;        // [flow]; of the solve in progress
  std::vector<double> weight_left_;        // [local]; weight of flows not yet fixed, if flows have weights
  RadixQueue queue_;                       // capacities by their last known share, a lower bound
};

}  // namespace crosscut::networks
