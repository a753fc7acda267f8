// Flows that come and go: their max-min rates, solved anew only where something changed.
//
// Flows that share no capacity, not even through others, do not affect each other; so what is solved anew are
// the flows connected to a change. And a flow that leaves changes nothing as long as no capacity it passed is
// what bounds another: the others still have their bottlenecks, by which a max-min allocation is known
// (Bertsekas and Gallager, section 6.5.2).
#pragma once

#include "networks/rates.hpp"

namespace crosscut::networks {

class FlowSet {
 public:
  using Flow = std::int32_t;

  explicit FlowSet(std::span<const double> capacities);
  // All flows that there may be; none is active. `table` and `weights` (as MaxMin::solve has them) must
  // outlive what follows.
  void start(const FlowTable& table, std::span<const double> weights = {});
  void add(Flow flow);     // that is not active
  void remove(Flow flow);  // that is
  // Brings the rates up to date. Flows whose rate it may have changed, each once: all added since the last
  // time that are still active, and those connected to a change.
  std::span<const Flow> update();
  // As MaxMin::lift_own. What a flow has for itself depends on who else is there, so that leaving always
  // changes something. Before `start`.
  void lift_own(bool lifted) { lifted_ = lifted, solver_.lift_own(lifted); }
  double own_bound(Flow flow) const { return own_bounds_[static_cast<std::size_t>(flow)]; }
  double rate(Flow flow) const { return rates_[static_cast<std::size_t>(flow)]; }
  // Number of the capacity that bounds it, -1: none. All flows of one bottleneck have the same rate, where
  // they have no weights.
  std::int32_t bottleneck(Flow flow) const { return bottleneck_[static_cast<std::size_t>(flow)]; }
  std::size_t bottlenecks() const { return shared_.size(); }  // all are below it
  std::int64_t solves() const { return solves_; }

 private:
  using Local = std::int32_t;
  struct Shared {
    std::int32_t first = 0;   // into members_: its uses by flows that are active
    std::int32_t active = 0;  // how many
    std::int32_t bounds = 0;  // active flows that it is the bottleneck of
    bool left = false;        // a flow that passed it was removed since the last solve
    bool found = false;       // by the search in progress
    double room = 0;          // while rates are found: of the capacity, after the flows that have theirs
    std::int32_t uses = 0;    // by flows that have none yet
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
  int together_ = 0;  // solves for which all that is active is taken to be connected
  FlowTable part_;
  std::vector<double> part_rates_, part_weights_;
  std::vector<double> own_bounds_;  // [flow]; empty unless lifted
  bool lifted_ = false;
  RadixQueue queue_;  // as MaxMin's
  MaxMin solver_;     // where a flow's own capacities are lifted, or flows have weights
  std::int64_t solves_ = 0;
};

}  // namespace crosscut::networks
