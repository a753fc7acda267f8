#include "replay/replay.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"

namespace crosscut::replay {
namespace {

// Relative difference below which events count as simultaneous: rounding separates events that symmetry makes
// simultaneous.
constexpr double moment = 1e-12;
constexpr std::size_t most_told = 8;

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

std::vector<double> scaled(std::span<const double> capacities, double factor) {
  std::vector<double> all(capacities.begin(), capacities.end());
  for (auto& capacity : all) capacity *= factor;
  return all;
}

// Compares positions in bytes, with a tolerance for the rounding errors of their sums.
bool reached(double position, double goal) { return position + 1e-6 + 1e-12 * position >= goal; }

}  // namespace

Replay::Replay(const ReplayTrace& trace, const backends::sim::Paths& paths, const ReplayModel& model)
    : trace_(trace),
      paths_(paths),
      model_(model),
      capacities_(scaled(paths.capacities(), model.bandwidth)),
      flows_(capacities_),
      ranks_(index(trace.ranks())) {
  const auto seed = mix_bits(model.noise_seed);  // 0 for seed 0
  for (Rank rank = 0; rank < trace.ranks(); ++rank)
    ranks_[index(rank)].noise = Random(seed + static_cast<std::uint64_t>(rank) + 1);
  make_connections();
  if (model_.deep_queues) weigh();
  flows_.start(table_, weights_);
}

std::uint64_t Replay::key(Rank source, Rank destination, std::int32_t tag) const {
  const auto pair = static_cast<std::uint64_t>(source) * index(trace_.ranks()) + index(destination);
  return pair << 31 | static_cast<std::uint64_t>(tag);
}

void Replay::make_connections() {
  for (Rank rank = 0; rank < trace_.ranks(); ++rank) {
    for (const auto& action : trace_.actions[index(rank)]) {
      if (action.kind != Action::Kind::send && action.kind != Action::Kind::start_send) continue;
      connect(rank, action.peer);
      if (action.amount > model_.inject_bytes) connect(action.peer, rank);  // for answers
    }
  }
}

void Replay::connect(Rank source, Rank destination) {
  const auto number = static_cast<ConnectionNumber>(connections_.size());
  if (!connection_of_.try_emplace(key(source, destination, 0), number).second) return;
  Connection made;
  made.source = source;
  made.destination = destination;
  const backends::sim::Route route{.source = source, .destination = destination, .channel = 0, .rail = 0};
  made.latency = model_.latency * paths_.path(route, table_.uses);
  table_.end_row();
  const auto way = table_.row(index(number));
  made.within_host = way.empty();
  made.alone_rate = std::numeric_limits<double>::infinity();
  for (const auto use : way) made.alone_rate = std::min(made.alone_rate, capacities_[index(use)]);
  connections_.push_back(std::move(made));
}

// A first-in-first-out queue divides a link in proportion to the flows' input rates. These are the rates of
// the senders' own links, unless losses hold the senders back.
void Replay::weigh() {
  for (std::size_t flow = 0; flow < table_.flows(); ++flow) {
    const auto uses = table_.row(flow);
    const auto own = uses.empty() ? 0 : paths_.capacities()[index(uses.front())];
    weights_.push_back(own > 0 && std::isfinite(own) ? own : 1);
  }
}

ReplayTimes Replay::run() {
  for (Rank rank = 0; rank < trace_.ranks(); ++rank) at(0, Kind::resume, rank);
  while (!events_.empty()) take_events();
  ReplayTimes times;
  for (const auto& state : ranks_) {
    if (state.ended < 0) tell_who_waits();
    times.ended.push_back(state.ended);
  }
  return times;
}

void Replay::at(double time, Kind kind, std::int32_t number, std::uint32_t version) {
  events_.push({time, kind, number, version, told_++});
}

// Handles all events of one moment, then computes the rates that follow from them.
void Replay::take_events() {
  const auto end = events_.top().time * (1 + moment);
  while (!events_.empty() && events_.top().time <= end) {
    const auto event = events_.top();
    events_.pop();
    if (event.kind == Kind::drained && event.version != connections_[index(event.number)].version) continue;
    now_ = std::max(now_, event.time);
    take(event);
  }
  renew_rates();
}

void Replay::take(const Event& event) {
  switch (event.kind) {
    case Kind::drained:
      return drained(event.number);
    case Kind::sent:
      return sent(event.number);
    case Kind::enter:
      return enter(event.number);
    case Kind::resume:
      return proceed(event.number);
    case Kind::arrived:
      return arrived(event.number);
    case Kind::answered:
      return answered(event.number);
  }
}

// ---- ranks

void Replay::proceed(Rank rank) {
  auto& state = ranks_[index(rank)];
  const auto& actions = trace_.actions[index(rank)];
  while (state.at < actions.size() && perform(rank, state, actions[state.at])) {
    ++state.at;
    state.paid = false;
    state.message = -1;
  }
  if (state.at == actions.size() && state.ended < 0) {
    state.ended = now_;
    answer(state);
  }
}

// Returns true if the action is over; otherwise a later event continues it.
bool Replay::perform(Rank rank, RankState& state, const Action& action) {
  switch (action.kind) {
    case Action::Kind::compute:
      return pay(rank, state, action.amount * model_.seconds_per_operation);
    case Action::Kind::sleep:
      return pay(rank, state, action.amount);
    case Action::Kind::start_send:
    case Action::Kind::start_receive:
      return start_message(rank, state, action);
    case Action::Kind::wait:
      return wait(rank, state, action);
    case Action::Kind::wait_all:
      return wait_all(rank, state);
    case Action::Kind::send:
    case Action::Kind::receive:
      break;
  }
  return blocking(rank, state, action);
}

// Charges processor time, once per action. Returns true if there is nothing to wait for.
bool Replay::pay(Rank rank, RankState& state, double seconds) {
  if (state.paid || seconds <= 0) return true;
  state.paid = true;
  at(now_ + seconds, Kind::resume, rank);
  return false;
}

bool Replay::blocking(Rank rank, RankState& state, const Action& action) {
  if (state.message >= 0) return complete(rank, state);
  const bool sends = action.kind == Action::Kind::send;
  if (sends && !pay(rank, state, send_overhead(rank))) return false;
  state.message = match(rank, action, sends);
  state.waits_to_send = sends;
  state.paid = false;
  return complete(rank, state);
}

bool Replay::start_message(Rank rank, RankState& state, const Action& action) {
  const bool sends = action.kind == Action::Kind::start_send;
  if (sends && !pay(rank, state, send_overhead(rank))) return false;
  state.open.push_back({match(rank, action, sends), key(rank, action, sends), sends});
  return true;
}

bool Replay::wait(Rank rank, RankState& state, const Action& action) {
  if (state.message < 0) {
    const auto name = key(rank, action, action.of_send);
    const auto found = std::find_if(state.open.begin(), state.open.end(),
                                    [&](const Request& one) { return one.key == name; });
    if (found == state.open.end())
      throw UsageError(trace_.files[index(rank)].string() + ":" + std::to_string(action.line) +
                       ": waits for a message that was not started (isend or irecv)");
    state.message = found->message;
    state.waits_to_send = found->of_send;
    state.open.erase(found);
  }
  return complete(rank, state);
}

bool Replay::wait_all(Rank rank, RankState& state) {
  while (true) {
    if (state.message >= 0) {
      if (!complete(rank, state)) return false;
      state.message = -1;
      state.paid = false;
    }
    if (state.open.empty()) return true;
    state.message = state.open.front().message;
    state.waits_to_send = state.open.front().of_send;
    state.open.erase(state.open.begin());
  }
}

bool Replay::complete(Rank rank, RankState& state) {
  auto& message = messages_[index(state.message)];
  if (state.waits_to_send) return has_sent(rank, state, message);
  answer(state);
  message.receiver_waits = !message.arrived;
  return message.arrived && (state.paid || pay(rank, state, received_seconds(rank, state)));
}

// A rank that had to wait for the answer receives it like a message.
bool Replay::has_sent(Rank rank, RankState& state, Message& message) {
  if (message.sent)
    return !message.sender_waits || !needs_answer(message) || pay(rank, state, receive_overhead(rank));
  message.sender_waits = true;
  answer(state);
  return false;
}

double Replay::received_seconds(Rank rank, RankState& state) const {
  const auto fixed = receive_overhead(rank), mean = model_.noise_seconds * model_.overhead;
  if (mean <= 0) return fixed;
  const auto uniform = static_cast<double>(state.noise.next() >> 11) * 0x1p-53;  // from 0, below 1
  return fixed - mean * std::log1p(-uniform);
}

// Pairs the n-th send with the n-th receive of the same pair and tag. Whichever is posted first waits here.
Replay::MessageNumber Replay::match(Rank rank, const Action& action, bool of_send) {
  const auto name = key(rank, action, of_send);
  const auto half = half_.find(name);
  const bool meets = half != half_.end() && messages_[index(half->second.front())].has_send != of_send;
  MessageNumber number = 0;
  if (meets) {
    number = half->second.front();
    half->second.pop_front();
    if (half->second.empty()) half_.erase(half);
  } else {
    if (messages_.size() == index(std::numeric_limits<MessageNumber>::max()))
      throw UsageError("the trace has 2^31 messages or more");
    number = static_cast<MessageNumber>(messages_.size());
    messages_.emplace_back();
    half_[name].push_back(number);
  }
  auto& message = messages_[index(number)];
  if (of_send) {
    message.has_send = true;
    message.bytes = action.amount;
    message.posted = now_;
    message.connection = connection_of_.at(key(rank, action.peer, 0));
  } else {
    message.has_receive = true;
  }
  if (message.has_send && message.bytes <= model_.eager_bytes) {
    if (of_send) enter(number);
  } else if (message.has_send && message.has_receive) {
    // Rendezvous: the receiver asks for the message when its header has arrived and its receive is posted.
    const auto control = control_seconds(connections_[index(message.connection)]);
    at(std::max(now_, message.posted + control) + control, Kind::enter, number);
  }
  return number;
}

double Replay::control_seconds(const Connection& connection) const {
  return connection.latency + send_overhead(connection.source) + receive_overhead(connection.destination);
}

// ---- the network

// Returns the bytes on the wire, expressed as payload of full frames: a message's last frame is seldom full.
double Replay::carried_bytes(double bytes) const {
  const auto payload = bytes + model_.header_bytes;
  if (model_.segment_bytes <= 0) return payload;
  const auto frames = std::ceil(payload / model_.segment_bytes);
  const auto full = model_.segment_bytes / (model_.segment_bytes + model_.framing_bytes);
  return (payload + frames * model_.framing_bytes) * full;
}

void Replay::enter(MessageNumber number) {
  auto& message = messages_[index(number)];
  auto& connection = connections_[index(message.connection)];
  if (model_.alone || std::isinf(connection.alone_rate)) return travel_alone(number);
  if (connection.leaving.empty()) {
    connection.entered = connection.left = connection.rate = 0;
    connection.since = now_;
    flows_.add(message.connection);
    flows_changed_ = true;
  }
  settle(connection);
  message.end = connection.entered += carried_bytes(message.bytes);
  connection.leaving.push_back(number);
  connection.buffered.push_back(number);
  if (connection.rate > 0) schedule_drain(message.connection);
  if (connection.buffered.front() == number &&
      reached(connection.left, message.end - model_.send_buffer_bytes)) {
    connection.buffered.pop_front();
    sent(number);
  }
}

void Replay::travel_alone(MessageNumber number) {
  const auto& message = messages_[index(number)];
  const auto& connection = connections_[index(message.connection)];
  const auto bytes = carried_bytes(message.bytes);
  at(now_ + std::max(0.0, bytes - model_.send_buffer_bytes) / connection.alone_rate, Kind::sent, number);
  at(now_ + bytes / connection.alone_rate + connection.latency, Kind::arrived, number);
}

void Replay::settle(Connection& connection) const {
  connection.left =
      std::min(connection.entered, connection.left + connection.rate * (now_ - connection.since));
  connection.since = now_;
}

void Replay::schedule_drain(ConnectionNumber number) {
  auto& connection = connections_[index(number)];
  ++connection.version;
  auto goal = messages_[index(connection.leaving.front())].end;
  if (!connection.buffered.empty())
    goal = std::min(goal, messages_[index(connection.buffered.front())].end - model_.send_buffer_bytes);
  if (connection.rate > 0)
    at(now_ + std::max(0.0, goal - connection.left) / connection.rate, Kind::drained, number,
       connection.version);
}

// Advances a connection to the end of its next message, or until its sender need not wait any longer.
void Replay::drained(ConnectionNumber number) {
  auto& connection = connections_[index(number)];
  settle(connection);
  while (!connection.buffered.empty() &&
         reached(connection.left,
                 messages_[index(connection.buffered.front())].end - model_.send_buffer_bytes)) {
    at(now_, Kind::sent, connection.buffered.front());
    connection.buffered.pop_front();
  }
  while (!connection.leaving.empty() &&
         reached(connection.left, messages_[index(connection.leaving.front())].end)) {
    const auto left = connection.leaving.front();
    connection.leaving.pop_front();
    at(now_ + connection.latency, Kind::arrived, left);
    for (auto& answers = connection.answers; !answers.empty() && answers.front().behind == left;) {
      at(now_ + connection.latency, Kind::answered, answers.front().message);
      answers.pop_front();
    }
  }
  if (!connection.leaving.empty()) return schedule_drain(number);
  ++connection.version;
  flows_.remove(number);
  flows_changed_ = true;
}

void Replay::sent(MessageNumber number) {
  if (!needs_answer(messages_[index(number)])) answered(number);
}

// Ranks of one host do not send over TCP.
bool Replay::needs_answer(const Message& message) const {
  return message.bytes > model_.inject_bytes && !connections_[index(message.connection)].within_host;
}

void Replay::answered(MessageNumber number) {
  auto& message = messages_[index(number)];
  message.sent = true;
  if (message.sender_waits) proceed(connections_[index(message.connection)].source);
}

void Replay::arrived(MessageNumber number) {
  auto& message = messages_[index(number)];
  message.arrived = true;
  const auto receiver = connections_[index(message.connection)].destination;
  if (needs_answer(message)) {
    auto& state = ranks_[index(receiver)];
    state.unanswered.push_back(number);
    if (state.message >= 0 || state.ended >= 0) answer(state);  // it waits in MPI, or in MPI_Finalize
  }
  if (message.receiver_waits) proceed(receiver);
}

// The library takes in what has arrived. An answer is short: it waits for what its own connection has yet to
// send, but not for the host's other connections.
void Replay::answer(RankState& state) {
  for (const auto number : state.unanswered) {
    const auto& way = connections_[index(messages_[index(number)].connection)];
    auto& back = connections_[index(connection_of_.at(key(way.destination, way.source, 0)))];
    if (back.leaving.empty())
      at(now_ + back.latency, Kind::answered, number);
    else
      back.answers.push_back({number, back.leaving.back()});
  }
  state.unanswered.clear();
}

void Replay::renew_rates() {
  if (!flows_changed_) return;
  flows_changed_ = false;
  for (const auto number : flows_.update()) {
    auto& connection = connections_[index(number)];
    settle(connection);
    connection.rate = flows_.rate(number);
    schedule_drain(number);
  }
}

void Replay::tell_who_waits() const {
  std::string all;
  std::size_t told = 0;
  for (Rank rank = 0; rank < trace_.ranks(); ++rank) {
    const auto& state = ranks_[index(rank)];
    if (state.ended >= 0 || ++told > most_told) continue;
    const auto& action = trace_.actions[index(rank)][state.at];
    all += (all.empty() ? "rank " : "; rank ") + std::to_string(rank) +
           (state.waits_to_send ? " waits to send" : " waits to receive") + " (" +
           trace_.files[index(rank)].string() + ":" + std::to_string(action.line) + ")";
  }
  throw RunError("the replay deadlocks: " + all + (told > most_told ? "; …" : ""));
}

}  // namespace crosscut::replay
