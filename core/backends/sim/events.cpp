#include "backends/sim/events.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace crosscut::backends::sim {
namespace {

// Events within this fraction of their time count as one moment: rounding separates events that symmetry
// makes simultaneous, by some 1e-16 per addition, and each moment costs a solve.
constexpr double moment = 1e-12;
constexpr std::size_t events_between_checks = 4096;

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

EventRun::EventRun(const Paths& paths, const SimModel& model, std::function<bool()> cancelled)
    : paths_(paths), model_(model), cancelled_(std::move(cancelled)), flows_(paths.capacities()) {}

const SimOp& EventRun::send_of(MessageIndex message) const {
  return program_->op(program_->messages()[index(message)].send);
}

const SimOp& EventRun::receive_of(MessageIndex message) const {
  return program_->op(program_->messages()[index(message)].receive);
}

void EventRun::start(const PhaseProgram& program, const SimRoutes& routes, SimTimes& times) {
  routes_ = &routes;
  times_ = &times;
  now_ = 0;
  completed_ = 0;
  events_.clear();
  touched_.clear();
  const auto operations = program.ops().size();
  times.posted.assign(operations, std::nan(""));
  times.done.assign(operations, std::nan(""));
  progress_.assign(program.messages().size(), {});
  free_at_.assign(index(program.ranks()), 0);
  flows_.lift_own(model_.knee.on());
  flows_.start(routes.table, weights_);
  crowds_.resize(std::max(crowds_.size(), flows_.bottlenecks()));
  for (auto& crowd : crowds_) {
    crowd.served = crowd.bytes_per_second = crowd.since = 0;
    crowd.touched = false;
    crowd.due.clear();
  }
  unfinished_.assign(program.striped() ? operations : 0, 0);
  if (program.striped())
    for (const auto& op : program.ops()) ++unfinished_[index(op.last)];
  waits_for_.assign(operations, 0);
  ready_.clear();
  for (std::size_t i = operations; i-- > 0;) {
    for (const auto before : program.ops()[i].after)
      if (before >= 0) ++waits_for_[i];
    if (waits_for_[i] == 0) ready_.push_back(static_cast<SimOpIndex>(i));
  }
}

void EventRun::draw_weights(std::int64_t phase) {
  weights_.clear();
  if (!model_.spread.on()) return;
  for (const auto& message : program_->messages()) {
    const auto& send = program_->op(message.send);
    weights_.push_back(model_.spread.weight(phase, send.rank, send.peer, send.channel));
  }
}

void EventRun::run(const PhaseProgram& program, const SimRoutes& routes, std::int64_t phase,
                   SimTimes& times) {
  program_ = &program;
  draw_weights(phase);
  start(program, routes, times);
  begin_ready();
  renew_rates();
  while (!events_.empty()) take_events();
  if (completed_ < program.ops().size()) tell_who_waits();
}

void EventRun::at(double time, Kind kind, MessageIndex message, std::uint32_t version) {
  events_.push_back({time, kind, message, version});
  std::push_heap(events_.begin(), events_.end());
}

// Takes all events of one moment, then renews the rates.
void EventRun::take_events() {
  const auto end = events_.front().time * (1 + moment);
  for (std::size_t count = 0; !events_.empty() && events_.front().time <= end; ++count) {
    const auto event = events_.front();
    std::pop_heap(events_.begin(), events_.end());
    events_.pop_back();
    if (event.kind == Kind::drained && event.version != progress_[index(event.message)].version) continue;
    if (event.kind == Kind::crowd_drained && event.version != crowds_[index(event.message)].version) continue;
    now_ = std::max(now_, event.time);
    take(event);
    begin_ready();
    if (count % events_between_checks == 0 && cancelled_()) throw RunError("interrupted");
  }
  renew_rates();
}

void EventRun::take(const Event& event) {
  switch (event.kind) {
    case Kind::crowd_drained:
      return crowd_drained(event.message);
    case Kind::drained:
      return drained(event.message);
    case Kind::arrived:
      return arrived(event.message);
    case Kind::injected:
      return inject(event.message);
    case Kind::received:
      return complete(program_->messages()[index(event.message)].receive);
  }
}

// Begins operations in the program order of each rank: the list is kept in reverse.
void EventRun::begin_ready() {
  while (!ready_.empty()) {
    const auto op = ready_.back();
    ready_.pop_back();
    begin(op);
  }
}

void EventRun::begin(SimOpIndex op_index) {
  const auto& op = program_->op(op_index);
  if (op.kind == program::Op::Kind::send) return begin_send(op, op_index);
  times_->posted[index(op_index)] = now_;
  auto& progress = progress_[index(op.message)];
  progress.awaited = true;
  if (progress.arrived) return receive(op.message);
  start_when_possible(op.message);
}

void EventRun::begin_send(const SimOp& op, SimOpIndex op_index) {
  const auto overhead = paths_.send_overhead(op.rank);
  auto& posted = times_->posted[index(op_index)];
  posted = now_;
  if (overhead <= 0) return inject(op.message);
  auto& free_at = free_at_[index(op.rank)];
  posted = std::max(now_, free_at);
  free_at = posted + overhead;
  at(free_at, Kind::injected, op.message);
}

void EventRun::inject(MessageIndex message) {
  progress_[index(message)].injected = true;
  if (is_eager(send_of(message))) complete(program_->messages()[index(message)].send);
  start_when_possible(message);
}

void EventRun::start_when_possible(MessageIndex message) {
  auto& progress = progress_[index(message)];
  const auto& send = send_of(message);
  if (progress.started || !progress.injected || !(progress.awaited || is_eager(send))) return;
  // A connection carries its messages one after another.
  if (program_->messages()[index(message)].follows && !progress_[index(message) - 1].left) return;
  progress.started = true;
  progress.bytes_left = static_cast<double>(send.bytes);
  if (send.bytes > 0) return flows_.add(message);
  leave(message);
}

// The last byte has left the sender.
void EventRun::leave(MessageIndex message) {
  progress_[index(message)].left = true;
  at(now_ + routes_->seconds[index(message)], Kind::arrived, message);
  const auto next = index(message) + 1;
  if (next < progress_.size() && program_->messages()[next].follows)
    start_when_possible(static_cast<MessageIndex>(next));
}

void EventRun::drained(MessageIndex message) {
  flows_.remove(message);
  ++progress_[index(message)].version;
  if (!is_eager(send_of(message))) complete(program_->messages()[index(message)].send);
  leave(message);
}

void EventRun::arrived(MessageIndex message) {
  auto& progress = progress_[index(message)];
  progress.arrived = true;
  if (progress.awaited) receive(message);
}

void EventRun::receive(MessageIndex message) {
  const auto& op = receive_of(message);
  const auto overhead = paths_.receive_overhead(op.rank);
  if (overhead <= 0) return complete(program_->messages()[index(message)].receive);
  auto& free_at = free_at_[index(op.rank)];
  free_at = std::max(now_, free_at) + overhead;
  at(free_at, Kind::received, message);
}

void EventRun::complete(SimOpIndex op) {
  times_->done[index(op)] = now_;
  ++completed_;
  if (program_->striped()) {
    op = program_->op(op).last;
    if (--unfinished_[index(op)] > 0) return;
    times_->done[index(op)] = now_;
  }
  const auto dependents = program_->dependents(op);
  for (auto i = dependents.size(); i-- > 0;)
    if (--waits_for_[index(dependents[i])] == 0) ready_.push_back(dependents[i]);
}

double EventRun::drain_rate(MessageIndex message) const {
  const auto share = flows_.rate(message);
  if (!model_.knee.on()) return share;
  return model_.knee.rate(flows_.own_bound(message), share);
}

void EventRun::renew_rates() {
  for (const auto flow : flows_.update()) {
    const auto bottleneck = flows_.bottleneck(flow);
    // With a knee or weights, even flows of one bottleneck differ in rate.
    if (bottleneck < 0 || model_.knee.on() || model_.spread.on()) {
      renew_alone(flow);
    } else {
      renew_in_crowd(flow, bottleneck);
    }
  }
  schedule_crowd_drains();
}

// A flow whose rate is unchanged keeps its end time to the bit.
void EventRun::renew_alone(MessageIndex message) {
  leave_crowd(message);
  auto& progress = progress_[index(message)];
  const auto rate = drain_rate(message);
  if (rate == progress.bytes_per_second) return;
  progress.bytes_left = bytes_left_now(progress);
  progress.since = now_;
  progress.bytes_per_second = rate;
  ++progress.version;
  if (rate > 0) at(now_ + progress.bytes_left / rate, Kind::drained, message, progress.version);
}

void EventRun::renew_in_crowd(MessageIndex message, std::int32_t crowd_index) {
  auto& progress = progress_[index(message)];
  auto& crowd = crowds_[index(crowd_index)];
  if (const auto rate = flows_.rate(message); rate != crowd.bytes_per_second) {
    serve(crowd);
    crowd.bytes_per_second = rate;
    touch(crowd_index);
  }
  if (progress.crowd == crowd_index) return;
  leave_crowd(message);
  serve(crowd);
  progress.crowd = crowd_index;
  progress.due = crowd.served + bytes_left_now(progress);
  ++progress.version;
  crowd.due.push_back({progress.due, message, progress.version});
  std::push_heap(crowd.due.begin(), crowd.due.end());
  touch(crowd_index);
}

double EventRun::bytes_left_now(const Progress& progress) const {
  return std::max(0.0, progress.bytes_left - progress.bytes_per_second * (now_ - progress.since));
}

void EventRun::leave_crowd(MessageIndex message) {
  auto& progress = progress_[index(message)];
  if (progress.crowd < 0) return;
  auto& crowd = crowds_[index(progress.crowd)];
  serve(crowd);
  touch(progress.crowd);
  progress.bytes_left = std::max(0.0, progress.due - crowd.served);
  progress.bytes_per_second = 0;
  progress.since = now_;
  progress.crowd = -1;
  ++progress.version;
}

void EventRun::serve(Crowd& crowd) {
  if (crowd.bytes_per_second > 0) crowd.served += crowd.bytes_per_second * (now_ - crowd.since);
  crowd.since = now_;
}

void EventRun::touch(std::int32_t crowd) {
  if (!std::exchange(crowds_[index(crowd)].touched, true)) touched_.push_back(crowd);
}

void EventRun::crowd_drained(std::int32_t crowd_index) {
  auto& crowd = crowds_[index(crowd_index)];
  serve(crowd);
  touch(crowd_index);
  drained_.clear();
  const auto enough = crowd.served + crowd.bytes_per_second * now_ * moment;
  // The event was scheduled for the first one, which has drained whatever rounding says.
  while (!crowd.due.empty() && (drained_.empty() || crowd.due.front().served <= enough)) {
    const auto due = crowd.due.front();
    std::pop_heap(crowd.due.begin(), crowd.due.end());
    crowd.due.pop_back();
    if (!has_left(due)) drained_.push_back(due.message);
  }
  for (const auto message : drained_) {
    progress_[index(message)].crowd = -1;
    drained(message);
  }
}

void EventRun::schedule_crowd_drains() {
  for (const auto crowd_index : touched_) {
    auto& crowd = crowds_[index(crowd_index)];
    crowd.touched = false;
    ++crowd.version;
    serve(crowd);
    while (!crowd.due.empty() && has_left(crowd.due.front())) {
      std::pop_heap(crowd.due.begin(), crowd.due.end());
      crowd.due.pop_back();
    }
    if (crowd.due.empty()) crowd.served = crowd.bytes_per_second = 0;  // restart small, for precision
    if (crowd.bytes_per_second <= 0) continue;
    const auto left = std::max(0.0, crowd.due.front().served - crowd.served);
    at(now_ + left / crowd.bytes_per_second, Kind::crowd_drained, crowd_index, crowd.version);
  }
  touched_.clear();
}

void EventRun::tell_who_waits() const {
  for (std::size_t i = 0; i < times_->done.size(); ++i) {
    if (!std::isnan(times_->done[i])) continue;
    const auto& op = program_->ops()[i];
    const bool is_send = op.kind == program::Op::Kind::send;
    throw RunError("rank " + std::to_string(op.rank) + " waits forever to " +
                   (is_send ? "send to rank " : "receive from rank ") + std::to_string(op.peer) +
                   ": the pattern deadlocks, or the path between them has no capacity");
  }
  throw RunError("a phase does not end");
}

}  // namespace crosscut::backends::sim
