#include "networks/flow_set.hpp"

#include <algorithm>
#include <utility>

namespace crosscut::networks {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr int solves_between_searches = 15;

}  // namespace

FlowSet::FlowSet(std::span<const double> capacities) : capacities_(capacities), marks_(capacities.size()) {}

void FlowSet::start(const FlowTable& table, std::span<const double> weights) {
  table_ = &table;
  weights_ = weights;
  number_capacities(table);
  solver_.reset(local_capacities_);
  rates_.assign(table.flows(), 0);
  own_bounds_.assign(lifted_ ? table.flows() : 0, unbounded);
  bottleneck_.assign(table.flows(), -1);
  gathered_mark_.assign(table.flows(), 0);
  active_.assign(table.flows(), 0);
  left_.clear();
  added_.clear();
  active_flows_ = 0;
  together_ = 0;
}

// Reserves room for every possible use, so that adding and removing flows allocates nothing.
void FlowSet::number_capacities(const FlowTable& table) {
  if (++epoch_ == 0) {
    std::fill(marks_.begin(), marks_.end(), std::pair<std::uint32_t, Local>{});
    epoch_ = 1;
  }
  local_capacities_.clear();
  shared_.clear();
  locals_.resize(table.uses.size());
  flow_of_.resize(table.uses.size());
  for (std::size_t flow = 0; flow < table.flows(); ++flow) {
    for (auto use = table.first[flow]; use < table.first[flow + 1]; ++use) {
      const auto i = static_cast<std::size_t>(use);
      const auto capacity = static_cast<std::size_t>(table.uses[i]);
      flow_of_[i] = static_cast<Flow>(flow);
      locals_[i] = -1;
      if (capacities_[capacity] == unbounded) continue;
      auto& [epoch, local] = marks_[capacity];
      if (epoch != epoch_) {
        epoch = epoch_, local = static_cast<Local>(shared_.size());
        shared_.push_back({});
        local_capacities_.push_back(capacities_[capacity]);
      }
      locals_[i] = local;
      ++shared_[static_cast<std::size_t>(local)].first;  // counted first
    }
  }
  std::int32_t next = 0;
  for (auto& shared : shared_) next += std::exchange(shared.first, next);
  members_.resize(static_cast<std::size_t>(next));
  place_.resize(table.uses.size());
}

void FlowSet::set_bottleneck(Flow flow, Local local) {
  auto& its = bottleneck_[static_cast<std::size_t>(flow)];
  if (its >= 0) --shared_[static_cast<std::size_t>(its)].bounds;
  its = local;
  if (its >= 0) ++shared_[static_cast<std::size_t>(its)].bounds;
}

void FlowSet::add(Flow flow) {
  const auto at = static_cast<std::size_t>(flow);
  active_[at] = 1;
  ++active_flows_;
  added_.push_back(flow);
  for (auto use = table_->first[at]; use < table_->first[at + 1]; ++use) {
    const auto i = static_cast<std::size_t>(use);
    if (locals_[i] < 0) continue;
    auto& shared = shared_[static_cast<std::size_t>(locals_[i])];
    place_[i] = shared.first + shared.active++;
    members_[static_cast<std::size_t>(place_[i])] = static_cast<std::int32_t>(use);
  }
}

void FlowSet::remove(Flow flow) {
  const auto at = static_cast<std::size_t>(flow);
  active_[at] = 0;
  --active_flows_;
  set_bottleneck(flow, -1);
  for (auto use = table_->first[at]; use < table_->first[at + 1]; ++use) {
    const auto i = static_cast<std::size_t>(use);
    if (locals_[i] < 0) continue;
    auto& shared = shared_[static_cast<std::size_t>(locals_[i])];
    --shared.active;
    const auto last =
        members_[static_cast<std::size_t>(shared.first) + static_cast<std::size_t>(shared.active)];
    members_[static_cast<std::size_t>(place_[i])] = last;
    place_[static_cast<std::size_t>(last)] = place_[i];
    if (!std::exchange(shared.left, true)) left_.push_back(locals_[i]);
  }
}

void FlowSet::gather(Flow flow) {
  if (std::exchange(gathered_mark_[static_cast<std::size_t>(flow)], std::uint8_t{1}) != 0) return;
  gathered_.push_back(flow);
  const auto at = static_cast<std::size_t>(flow);
  for (auto use = table_->first[at]; use < table_->first[at + 1]; ++use) {
    const auto local = locals_[static_cast<std::size_t>(use)];
    if (local < 0 || std::exchange(shared_[static_cast<std::size_t>(local)].found, true)) continue;
    search_.push_back(local);
  }
}

// Searches only now and then while all active flows are connected, as in a burst of all to all. In between,
// all are solved without a search. Solving more flows than are connected to a change is always correct: the
// other rates stay the same.
void FlowSet::gather_connected() {
  if (together_ > 0 && active_flows_ * 8 > rates_.size()) {
    --together_;
    gather_all();
  } else {
    search_connected();
  }
  for (const auto local : search_) shared_[static_cast<std::size_t>(local)].found = false;
  for (const auto local : left_) shared_[static_cast<std::size_t>(local)].left = false;
  added_.clear();
  left_.clear();
}

void FlowSet::search_connected() {
  std::size_t searched = 0;
  std::size_t seeds = 0;
  const auto expand = [&] {
    for (; searched < search_.size(); ++searched) {
      const auto& shared = shared_[static_cast<std::size_t>(search_[searched])];
      for (auto k = shared.first; k < shared.first + shared.active; ++k)
        gather(flow_of_[static_cast<std::size_t>(members_[static_cast<std::size_t>(k)])]);
    }
    constexpr std::size_t few = 64;
    if (++seeds == 1 && gathered_.size() >= few && gathered_.size() == active_flows_)
      together_ = solves_between_searches;
  };
  together_ = 0;
  for (const auto flow : added_) {
    if (active_[static_cast<std::size_t>(flow)] == 0) continue;
    gather(flow);
    expand();
  }
  for (const auto local : left_) {
    auto& shared = shared_[static_cast<std::size_t>(local)];
    if ((shared.bounds > 0 || lifted_) && !std::exchange(shared.found, true)) search_.push_back(local);
    expand();
  }
}

void FlowSet::gather_all() {
  // If no departed flow used a capacity that bounds another flow, nothing changes for the remaining ones.
  const auto matters = [this](Local local) {
    return lifted_ || shared_[static_cast<std::size_t>(local)].bounds > 0;
  };
  if (added_.empty() && std::ranges::none_of(left_, matters)) return;
  for (std::size_t flow = 0; flow < active_.size(); ++flow)
    if (active_[flow] != 0) gathered_.push_back(static_cast<Flow>(flow));
  for (std::size_t local = 0; local < shared_.size(); ++local)
    if (shared_[local].active > 0) search_.push_back(static_cast<Local>(local));
}

void FlowSet::solve_gathered() {
  ++solves_;
  if (lifted_ || !weights_.empty()) return solve_by_table();
  fill_found();
  for (const auto flow : gathered_) {
    const auto at = static_cast<std::size_t>(flow);
    gathered_mark_[at] = 0;
    if (rates_[at] < 0) rates_[at] = unbounded, set_bottleneck(flow, -1);  // passes no bounded capacity
  }
}

// Uses the table's order, so that the same flows give the same bits whatever came and went before.
void FlowSet::solve_by_table() {
  std::sort(gathered_.begin(), gathered_.end());
  part_.clear();
  for (const auto flow : gathered_) {
    const auto at = static_cast<std::size_t>(flow);
    for (auto use = table_->first[at]; use < table_->first[at + 1]; ++use) {
      const auto local = locals_[static_cast<std::size_t>(use)];
      if (local >= 0) part_.uses.push_back(local);
    }
    part_.end_row();
  }
  part_rates_.resize(gathered_.size());
  part_weights_.clear();
  if (!weights_.empty())
    for (const auto flow : gathered_) part_weights_.push_back(weights_[static_cast<std::size_t>(flow)]);
  solver_.solve(part_, part_rates_, part_weights_);
  for (std::size_t i = 0; i < gathered_.size(); ++i) {
    const auto flow = gathered_[i];
    rates_[static_cast<std::size_t>(flow)] = part_rates_[i];
    if (lifted_) own_bounds_[static_cast<std::size_t>(flow)] = solver_.own_bounds()[i];
    set_bottleneck(flow, solver_.bottlenecks()[i]);
    gathered_mark_[static_cast<std::size_t>(flow)] = 0;
  }
}

// Progressive filling as in MaxMin, on the existing lists: active flows and their capacities are not gathered
// again. Uses the table's order, so that the same flows give the same bits.
void FlowSet::fill_found() {
  for (const auto flow : gathered_) rates_[static_cast<std::size_t>(flow)] = -1;
  std::sort(search_.begin(), search_.end());
  const auto share_of = [](const Shared& shared) { return shared.room / shared.uses; };
  double least = unbounded;
  for (const auto local : search_) {
    auto& shared = shared_[static_cast<std::size_t>(local)];
    shared.room = local_capacities_[static_cast<std::size_t>(local)];
    shared.uses = shared.active;
    if (shared.uses > 0) least = std::min(least, share_of(shared));
  }
  queue_.fill(
      search_, least, [&](Local local) { return shared_[static_cast<std::size_t>(local)].uses; },
      [&](Local local) { return share_of(shared_[static_cast<std::size_t>(local)]); },
      [&](Local full, double share) { fix(full, share); });
}

void FlowSet::fix(Local full, double share) {
  const auto& its = shared_[static_cast<std::size_t>(full)];
  for (auto k = its.first; k < its.first + its.active; ++k) {
    const auto flow = flow_of_[static_cast<std::size_t>(members_[static_cast<std::size_t>(k)])];
    const auto at = static_cast<std::size_t>(flow);
    if (rates_[at] >= 0) continue;
    rates_[at] = share;
    set_bottleneck(flow, full);
    for (auto use = table_->first[at]; use < table_->first[at + 1]; ++use) {
      const auto local = locals_[static_cast<std::size_t>(use)];
      if (local < 0) continue;
      auto& shared = shared_[static_cast<std::size_t>(local)];
      shared.room -= share;
      --shared.uses;
    }
  }
}

std::span<const FlowSet::Flow> FlowSet::update() {
  gathered_.clear();
  if (added_.empty() && left_.empty()) return gathered_;
  gather_connected();
  if (!gathered_.empty()) solve_gathered();
  search_.clear();
  return gathered_;
}

}  // namespace crosscut::networks
