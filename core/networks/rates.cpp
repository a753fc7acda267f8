#include "networks/rates.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace crosscut::networks {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

}  // namespace

void MaxMin::reset(std::span<const double> capacities) {
  marks_.clear();
  marks_.reserve(capacities.size());
  for (const auto capacity : capacities) marks_.push_back({.capacity = capacity, .epoch = 0, .uses = 0});
  epoch_ = 0;
}

void MaxMin::solve(const FlowTable& flows, std::span<double> rates, std::span<const double> weights) {
  if (flows.uses.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw UsageError("routes of one moment pass " + std::to_string(flows.uses.size()) +
                     " capacities; more than 2^31 cannot be solved at once");
  bottlenecks_.assign(flows.flows(), -1);
  own_bounds_.assign(lifted_ ? flows.flows() : 0, unbounded);
  count_uses(flows);
  keep_what_may_bind(flows, rates);
  list_members();
  weights_ = weights;
  if (weights.empty()) return fill<false>(rates);
  weigh();
  fill<true>(rates);
}

void MaxMin::count_uses(const FlowTable& flows) {
  if (++epoch_ == 0) {  // wrapped: marks of 2^32 solves ago must not look new
    for (auto& mark : marks_) mark.epoch = 0;
    epoch_ = 1;
  }
  for (const auto capacity : flows.uses) {
    auto& mark = marks_[static_cast<std::size_t>(capacity)];
    if (mark.epoch != epoch_) mark.epoch = epoch_, mark.uses = 0;
    ++mark.uses;
  }
}

// A capacity used by one flow bounds only this flow, and only if it is smaller than everything that the flow
// shares: a share never exceeds its capacity. So most uses of a sparse table (a permutation: the links of
// each host) need no second look.
void MaxMin::keep_what_may_bind(const FlowTable& flows, std::span<double> rates) {
  filling_.clear();
  capacity_of_.clear();
  kept_first_.clear();
  kept_first_.push_back(0);
  kept_.clear();
  for (std::size_t flow = 0; flow < flows.flows(); ++flow) {
    keep_row(flows.row(flow), flow, rates);
    kept_first_.push_back(static_cast<std::int32_t>(kept_.size()));
  }
}

MaxMin::Local MaxMin::number(std::int32_t capacity, std::int32_t uses) {
  filling_.push_back({.left = marks_[static_cast<std::size_t>(capacity)].capacity, .uses = uses, .first = 0});
  capacity_of_.push_back(capacity);
  return static_cast<Local>(filling_.size() - 1);
}

void MaxMin::keep_row(std::span<const std::int32_t> row, std::size_t flow, std::span<double> rates) {
  double least_own = unbounded, least_shared = unbounded;
  std::int32_t own = -1;
  const auto before = kept_.size();
  for (const auto capacity : row) {
    auto& mark = marks_[static_cast<std::size_t>(capacity)];
    if (mark.capacity == unbounded) continue;
    if (mark.uses == 1) {
      if (mark.capacity < least_own) least_own = mark.capacity, own = capacity;
      continue;
    }
    if (mark.uses > 1) mark.uses = ~number(capacity, mark.uses);
    least_shared = std::min(least_shared, mark.capacity);
    kept_.push_back(~mark.uses);
  }
  if (lifted_) {
    own_bounds_[flow] = least_own;
    rates[flow] = kept_.size() == before ? unbounded : -1;
    return;
  }
  if (kept_.size() == before) {
    rates[flow] = least_own;
    bottlenecks_[flow] = own;
    return;
  }
  rates[flow] = -1;  // not fixed yet
  if (least_own < least_shared) kept_.push_back(number(own, 1));
}

void MaxMin::list_members() {
  std::int32_t next = 0;
  members_end_.resize(filling_.size());
  for (std::size_t local = 0; local < filling_.size(); ++local) {
    members_end_[local] = filling_[local].first = next;
    next += filling_[local].uses;
  }
  members_.resize(static_cast<std::size_t>(next));
  for (std::size_t flow = 0; flow + 1 < kept_first_.size(); ++flow) {
    for (auto i = kept_first_[flow]; i < kept_first_[flow + 1]; ++i) {
      auto& end = members_end_[static_cast<std::size_t>(kept_[static_cast<std::size_t>(i)])];
      members_[static_cast<std::size_t>(end++)] = static_cast<std::int32_t>(flow);
    }
  }
}

void MaxMin::weigh() {
  weight_left_.assign(filling_.size(), 0);
  for (std::size_t flow = 0; flow + 1 < kept_first_.size(); ++flow)
    for (auto i = kept_first_[flow]; i < kept_first_[flow + 1]; ++i)
      weight_left_[static_cast<std::size_t>(kept_[static_cast<std::size_t>(i)])] += weights_[flow];
}

template <bool weighted>
double MaxMin::share_of(std::size_t local) const {
  if constexpr (weighted) return std::max(0.0, filling_[local].left) / weight_left_[local];
  return filling_[local].left / filling_[local].uses;
}

template <bool weighted>
void MaxMin::fill(std::span<double> rates) {
  double least = unbounded;
  for (std::size_t local = 0; local < filling_.size(); ++local)
    if (filling_[local].uses > 0) least = std::min(least, share_of<weighted>(local));
  if (least == unbounded) return;
  for (auto local = static_cast<Local>(numbers_.size()); numbers_.size() < filling_.size(); ++local)
    numbers_.push_back(local);
  queue_.fill(
      std::span(numbers_).first(filling_.size()), least,
      [&](Local local) { return filling_[static_cast<std::size_t>(local)].uses; },
      [&](Local local) { return share_of<weighted>(static_cast<std::size_t>(local)); },
      [&](Local full, double share) { fix<weighted>(full, share, rates); });
}

template <bool weighted>
void MaxMin::fix(Local full, double share, std::span<double> rates) {
  const auto at = static_cast<std::size_t>(full);
  for (auto i = filling_[at].first; i < members_end_[at]; ++i) {
    const auto flow = static_cast<std::size_t>(members_[static_cast<std::size_t>(i)]);
    if (rates[flow] >= 0) continue;
    const auto rate = weighted ? share * weights_[flow] : share;
    rates[flow] = rate;
    bottlenecks_[flow] = capacity_of_[at];
    for (auto k = kept_first_[flow]; k < kept_first_[flow + 1]; ++k) {
      const auto local = static_cast<std::size_t>(kept_[static_cast<std::size_t>(k)]);
      filling_[local].left -= rate;
      --filling_[local].uses;
      if constexpr (weighted) weight_left_[local] -= weights_[flow];
    }
  }
}

}  // namespace crosscut::networks
