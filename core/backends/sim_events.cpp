#include "sim_events.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "error.hpp"

namespace crosscut {
namespace {

// Events so close are one moment: what symmetry makes simultaneous, rounding takes apart by some 1e-16 an
// addition, and each moment costs a solve.
constexpr double moment = 1e-12;
constexpr std::size_t events_between_questions = 4096;

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

EventRun::EventRun(const Ways& ways, const SimModel& model, std::function<bool()> cancelled)
    : ways_(ways), model_(model), cancelled_(std::move(cancelled)), flows_(ways.capacities()) {}

const SimOp& EventRun::send_of(MessageIndex message) const {
  return program_->op(program_->messages()[index(message)].send);
}

const SimOp& EventRun::receive_of(MessageIndex message) const {
  return program_->op(program_->messages()[index(message)].receive);
}

void EventRun::start(const PhaseProgram& program, const SimRoutes& routes, SimTimes& times) {
  program_ = &program;
  routes_ = &routes;
  times_ = &times;
  now_ = 0;
  completed_ = 0;
  events_.clear();
  const auto operations = program.ops().size();
  times.posted.assign(operations, std::nan(""));
  times.done.assign(operations, std::nan(""));
  progress_.assign(program.messages().size(), {});
  free_at_.assign(index(program.ranks()), 0);
  flows_.lift_own(model_.knee.on());
  flows_.start(routes.table);
  waits_for_.assign(operations, 0);
  ready_.clear();
  for (std::size_t i = operations; i-- > 0;) {
    for (const auto before : program.ops()[i].after)
      if (before >= 0) ++waits_for_[i];
    if (waits_for_[i] == 0) ready_.push_back(static_cast<SimOpIndex>(i));
  }
}

void EventRun::run(const PhaseProgram& program, const SimRoutes& routes, SimTimes& times) {
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

// All that happens in one moment, then the rates that follow from it.
void EventRun::take_events() {
  const auto end = events_.front().time * (1 + moment);
  for (std::size_t count = 0; !events_.empty() && events_.front().time <= end; ++count) {
    const auto event = events_.front();
    std::pop_heap(events_.begin(), events_.end());
    events_.pop_back();
    if (event.kind == Kind::drained && event.version != progress_[index(event.message)].version) continue;
    now_ = std::max(now_, event.time);
    take(event);
    begin_ready();
    if (count % events_between_questions == 0 && cancelled_()) throw RunError("interrupted");
  }
  renew_rates();
}

void EventRun::take(const Event& event) {
  switch (event.kind) {
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

// The order of the program, of each rank: the list is kept the other way round.
void EventRun::begin_ready() {
  while (!ready_.empty()) {
    const auto op = ready_.back();
    ready_.pop_back();
    begin(op);
  }
}

void EventRun::begin(SimOpIndex op_index) {
  const auto& op = program_->op(op_index);
  if (op.kind == Op::Kind::send) return begin_send(op, op_index);
  times_->posted[index(op_index)] = now_;
  auto& progress = progress_[index(op.message)];
  progress.awaited = true;
  if (progress.arrived) return receive(op.message);
  start_when_possible(op.message);
}

void EventRun::begin_send(const SimOp& op, SimOpIndex op_index) {
  const auto overhead = ways_.send_overhead(op.rank);
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
  progress.started = true;
  progress.bytes_left = static_cast<double>(send.bytes);
  if (send.bytes == 0) return at(now_ + routes_->seconds[index(message)], Kind::arrived, message);
  flows_.add(message);
}

void EventRun::drained(MessageIndex message) {
  flows_.remove(message);
  ++progress_[index(message)].version;
  if (!is_eager(send_of(message))) complete(program_->messages()[index(message)].send);
  at(now_ + routes_->seconds[index(message)], Kind::arrived, message);
}

void EventRun::arrived(MessageIndex message) {
  auto& progress = progress_[index(message)];
  progress.arrived = true;
  if (progress.awaited) receive(message);
}

void EventRun::receive(MessageIndex message) {
  const auto& op = receive_of(message);
  const auto overhead = ways_.receive_overhead(op.rank);
  if (overhead <= 0) return complete(program_->messages()[index(message)].receive);
  auto& free_at = free_at_[index(op.rank)];
  free_at = std::max(now_, free_at) + overhead;
  at(free_at, Kind::received, message);
}

void EventRun::complete(SimOpIndex op) {
  times_->done[index(op)] = now_;
  ++completed_;
  const auto dependents = program_->dependents(op);
  for (auto i = dependents.size(); i-- > 0;)
    if (--waits_for_[index(dependents[i])] == 0) ready_.push_back(dependents[i]);
}

double EventRun::drain_rate(MessageIndex message) const {
  const auto share = flows_.rate(message);
  if (!model_.knee.on()) return share;
  return model_.knee.rate(flows_.own_bound(message), share);
}

// A flow whose rate is what it was keeps its end, to the bit.
void EventRun::renew_rates() {
  for (const auto flow : flows_.update()) {
    auto& progress = progress_[index(flow)];
    const auto rate = drain_rate(flow);
    if (rate == progress.bytes_per_second) continue;
    progress.bytes_left =
        std::max(0.0, progress.bytes_left - progress.bytes_per_second * (now_ - progress.since));
    progress.since = now_;
    progress.bytes_per_second = rate;
    ++progress.version;
    if (rate > 0) at(now_ + progress.bytes_left / rate, Kind::drained, flow, progress.version);
  }
}

void EventRun::tell_who_waits() const {
  for (std::size_t i = 0; i < times_->done.size(); ++i) {
    if (!std::isnan(times_->done[i])) continue;
    const auto& op = program_->ops()[i];
    const bool is_send = op.kind == Op::Kind::send;
    throw RunError("rank " + std::to_string(op.rank) + " waits for ever to " +
                   (is_send ? "send to rank " : "receive from rank ") + std::to_string(op.peer) +
                   ": the pattern's operations wait for each other, or the way between them has no capacity");
  }
  throw RunError("a phase does not end");
}

}  // namespace crosscut
