#include "backends/sim/phase.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "store/summary.hpp"

namespace crosscut::backends::sim {
namespace {

constexpr auto nothing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

PhaseSimulation::PhaseSimulation(const Paths& paths, const SimModel& model, std::function<bool()> cancelled)
    : paths_(paths), model_(model), cancelled_(std::move(cancelled)), solver_(paths.capacities()) {}

void PhaseSimulation::run(const program::Phase& phase, Rank ranks, std::int64_t index, std::int32_t window) {
  window_ = window;
  program_.make(phase, ranks);
  find_routes();
  const auto start = events_always_ ? std::nullopt : common_start();
  one_solve_ = start.has_value();
  if (start) return solve_once(*start);
  if (!events_) events_.emplace(paths_, model_, cancelled_);
  events_->run(program_, routes_, index, times_);
}

void PhaseSimulation::find_routes() {
  routes_.table.clear();
  routes_.seconds.clear();
  for (const auto& message : program_.messages()) {
    const auto& send = program_.op(message.send);
    routes_.seconds.push_back(
        paths_.path({send.rank, send.peer, send.channel, send.rail}, routes_.table.uses));
    routes_.table.end_row();
  }
}

// Returns the time at which all messages of the phase start to drain; nullopt unless there is one such time,
// all messages have the same size, and no overhead waits for another. Then one solve is enough:
//
// Every flow f has a bottleneck: a full capacity on which no other flow is faster (max-min fairness,
// Bertsekas and Gallager, section 6.5.2). The flows that share it with f are not faster and equal in size, so
// none of them ends before f does. Until then f's bottleneck stays full and f stays the fastest on it,
// whatever ends elsewhere. All remaining flows thus keep their bottlenecks, so their rates are still the
// max-min rates, and no rate changes before its flow ends.
std::optional<double> PhaseSimulation::common_start() const {
  if (model_.knee.on() || model_.spread.on() || !program_.independent() || program_.any_follows() ||
      program_.messages().empty())
    return std::nullopt;
  const auto bytes = program_.op(program_.messages().front().send).bytes;
  if (bytes == 0) return std::nullopt;
  std::optional<double> start;
  for (Rank rank = 0; rank < program_.ranks(); ++rank) {
    int sends = 0, receives = 0;
    for (auto i = program_.first(rank); i < program_.first(rank + 1); ++i) {
      const auto& op = program_.ops()[i];
      if (op.bytes != bytes) return std::nullopt;
      ++(op.kind == program::Op::Kind::send ? sends : receives);
    }
    const auto overhead = paths_.send_overhead(rank);
    if (sends > 0 && start.value_or(overhead) != overhead) return std::nullopt;
    if (sends > 0) start = overhead;
    if ((sends > 1 && overhead > 0) || (receives > 1 && paths_.receive_overhead(rank) > 0))
      return std::nullopt;
  }
  return start;
}

void PhaseSimulation::solve_once(double start) {
  rates_.resize(program_.messages().size());
  solver_.solve(routes_.table, rates_);
  times_.posted.assign(program_.ops().size(), 0);
  times_.done.resize(program_.ops().size());
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    const auto& message = program_.messages()[i];
    const auto& send = program_.op(message.send);
    const auto drained = start + static_cast<double>(send.bytes) / rates_[i];
    times_.done[static_cast<std::size_t>(message.send)] = send.bytes <= model_.eager_bytes ? start : drained;
    // The overhead of the receiver's own send is over by then: it ended at `start`.
    times_.done[static_cast<std::size_t>(message.receive)] =
        drained + routes_.seconds[i] + paths_.receive_overhead(send.peer);
  }
  if (!program_.striped()) return;
  for (std::size_t i = 0; i < times_.done.size(); ++i) {
    auto& whole = times_.done[static_cast<std::size_t>(program_.ops()[i].last)];
    whole = std::max(whole, times_.done[i]);
  }
}

store::PhaseSummary PhaseSimulation::summary(std::int64_t slots) {
  const auto ranks = static_cast<std::size_t>(program_.ranks());
  message_seconds_.resize(ranks * static_cast<std::size_t>(slots));
  rank_seconds_.resize(ranks);
  status_.assign(ranks, store::Status::measured);
  samples(slots, message_seconds_, rank_seconds_);
  return store::summarise_phase(message_seconds_, rank_seconds_, status_, most_moved_bytes());
}

// Like most_moved_bytes() of moved_bytes.hpp, but without emitting the operations again.
std::int64_t PhaseSimulation::most_moved_bytes() {
  sent_.assign(static_cast<std::size_t>(program_.ranks()), 0);
  received_.assign(sent_.size(), 0);
  for (const auto& op : program_.ops()) {
    if (op.slot < 0) continue;
    received_[static_cast<std::size_t>(op.rank)] += op.sample_bytes;
    sent_[static_cast<std::size_t>(op.peer)] += op.sample_bytes;
  }
  return std::max(*std::ranges::max_element(sent_), *std::ranges::max_element(received_));
}

void PhaseSimulation::samples(std::int64_t slots, std::span<double> message_seconds,
                              std::span<double> rank_seconds) const {
  std::fill(message_seconds.begin(), message_seconds.end(), nothing);
  std::fill(rank_seconds.begin(), rank_seconds.end(), nothing);
  for (std::size_t i = 0; i < program_.ops().size(); ++i) {
    const auto& op = program_.ops()[i];
    auto& all_done = rank_seconds[static_cast<std::size_t>(op.rank)];
    all_done = std::fmax(all_done, times_.done[i]);
    if (op.slot < 0) continue;
    const auto since = op.since < 0 ? 0 : times_.posted[static_cast<std::size_t>(op.since)];
    message_seconds[static_cast<std::size_t>(op.rank * slots + op.slot)] =
        (times_.done[i] - since) / op.divisor;
  }
  if (window_ == 1) return;
  for (auto& seconds : rank_seconds) seconds /= window_;
}

}  // namespace crosscut::backends::sim
