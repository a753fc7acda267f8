// Max-min rates of flows that come and go, solved again only where something changed.
//
// Flows that share no capacity, directly or through others, do not affect each other. So only the flows
// connected to a change are solved again. And if no capacity of a departing flow is a bottleneck of another,
// nothing changes: the others keep their bottlenecks, which characterise a max-min allocation (Bertsekas and
// Gallager, section 6.5.2).
#pragma once

#include "networks/rates.hpp"

namespace crosscut::networks {

class FlowSet {
 public:
  using Flow = std::int32_t;

  explicit FlowSet(std::span<const double> capacities);
  // Sets all possible flows; none is active yet. `table` and `weights` (see MaxMin::solve) must outlive this
  // object's use of them.
  void start(const FlowTable& table, std::span<const double> weights = {});
  void add(Flow flow);     // must not be active
  void remove(Flow flow);  // must be active
  // Updates the rates. Returns the flows whose rate may have changed, without duplicates: flows added since
  // the last call that are still active, and flows connected to a change.
  std::span<const Flow> update();
  // As MaxMin::lift_own; call before `start`. The capacities that a flow has for itself depend on the other
  // flows, so every departure changes something.
  void lift_own(bool lifted) { lifted_ = lifted, solver_.lift_own(lifted); }
  double own_bound(Flow flow) const { return own_bounds_[static_cast<std::size_t>(flow)]; }
  double rate(Flow flow) const { return rates_[static_cast<std::size_t>(flow)]; }
  // Returns the number of the capacity that bounds the flow, or -1 for none. Without weights, all flows of
  // one bottleneck have the same rate.
  std::int32_t bottleneck(Flow flow) const { return bottleneck_[static_cast<std::size_t>(flow)]; }
  std::size_t bottlenecks() const { return shared_.size(); }  // bottleneck() is below it
  std::int64_t solves() const { return solves_; }

 private:
  using Local = std::int32_t;
  struct Shared {
    std::int32_t first = 0;   // into members_: uses by active flows
    std::int32_t active = 0;  // number of them
    std::int32_t bounds = 0;  // active flows whose bottleneck it is
    bool left = false;        // true: a flow through it left since the last solve
    bool found = false;       // found by the search in progress
    double room = 0;          // while solving: capacity left by flows with a rate
    std::int32_t uses = 0;    // while solving: uses by flows without a rate
  };

  void number_capacities(const FlowTable& table);
  void set_bottleneck(Flow flow, Local local);
  void gather(Flow flow);
  void gather_connected();
  void search_connected();
  void gather_all();
  void solve_gathered();
  void solve_by_table();
  void fill_found();
  void fix(Local full, double share);

  std::span<const double> capacities_;
  const FlowTable* table_ = nullptr;
  std::span<const double> weights_;                     // [flow]; empty: all weigh 1
  std::vector<std::pair<std::uint32_t, Local>> marks_;  // [capacity] epoch, number
  std::uint32_t epoch_ = 0;
  std::vector<double> local_capacities_;
  std::vector<Shared> shared_;               // [local]
  std::vector<Local> locals_;                // [use]; -1: has no bound
  std::vector<std::int32_t> members_;        // uses, by capacity
  std::vector<std::int32_t> place_;          // [use] in members_
  std::vector<Flow> flow_of_;                // [use]
  std::vector<double> rates_;                // [flow]
  std::vector<Local> bottleneck_;            // [flow]; -1: none
  std::vector<std::uint8_t> gathered_mark_;  // [flow]
  std::vector<Local> left_, search_;
  std::vector<Flow> gathered_, added_;
  std::vector<std::uint8_t> active_;  // [flow]
  std::size_t active_flows_ = 0;
  int together_ = 0;  // solves for which all active flows count as connected
  FlowTable part_;
  std::vector<double> part_rates_, part_weights_;
  std::vector<double> own_bounds_;  // [flow]; empty unless lifted
  bool lifted_ = false;
  RadixQueue queue_;  // as MaxMin's
  MaxMin solver_;     // used if own capacities are lifted or flows have weights
  std::int64_t solves_ = 0;
};

}  // namespace crosscut::networks
