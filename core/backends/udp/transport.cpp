#include "backends/udp/transport.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace crosscut::backends::udp {
namespace {

// Pacing: the largest burst, as time at the paced rate.
constexpr double paced_burst_nanoseconds = 1e6;
std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::size_t checked_chunk(std::int64_t bytes) {
  if (bytes != 0 && bytes < static_cast<std::int64_t>(least_chunk_bytes)) {
    throw UsageError("--datagram " + std::to_string(bytes) +
                     " is too small; write 64 to 65483 bytes, or 0 for what fits the MTU");
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

UdpTransport::UdpTransport(const measure::BackendContext& context, const program::Parameters& given,
                           Tamper tamper)
    : context_(context),
      progress_(context.control_thread.progress()),
      polling_(context.polling),
      options_{.send_buffer_bytes = given.integer("send-buffer"),
               .receive_buffer_bytes = given.integer("receive-buffer"),
               .offload = given.boolean("offload")},
      asked_chunk_bytes_(checked_chunk(given.integer("datagram"))),
      nanoseconds_per_byte_(given.integer("rate") > 0 ? 1e9 / static_cast<double>(given.integer("rate")) : 0),
      tamper_(std::move(tamper)),
      tcp_(context, {}),
      inbox_({.reordering_nanoseconds = nanoseconds(given.real("reordering")),
              .grace_nanoseconds = nanoseconds(given.real("grace")),
              .early_bytes = given.integer("early-buffer")}),
      headers_(UdpSocket::batch_datagrams) {
  datagrams_.reserve(1024);
}

// Opens sockets up to the highest rail that the connections use. Every further socket would have to be
// polled.
void UdpTransport::open_sockets(std::span<const measure::ConnectionId> ids) {
  std::size_t rails = 0;
  for (const auto& id : ids) rails = std::max<std::size_t>(rails, id.rail + 1U);
  for (auto rail = sockets_.size(); rail < rails; ++rail) {
    const auto& interface = context_.interfaces.at(rail);
    Nonce nonce;
    fill_random(nonce);
    sockets_.push_back(std::make_unique<UdpSocket>(interface, options_, token_of(context_.secret, nonce)));
    sockets_.back()->set_patience(static_cast<double>(quiet_nanoseconds) * 1e-9);
    nonces_.push_back(nonce);
    chunk_bytes_.push_back(asked_chunk_bytes_ > 0 ? asked_chunk_bytes_ : chunk_that_fits(interface));
  }
}

void UdpTransport::connect(std::span<const measure::ConnectionId> ids, std::uint32_t epoch) {
  open_sockets(ids);
  tcp_.open(ids, epoch);
  std::vector<measure::ConnectionId> fresh;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(fresh),
               [&](const measure::ConnectionId& id) { return !numbers_.contains(id); });
  introduce(fresh);
}

// Exchanges introductions with the peers. Each rank sends all of its own before it receives any, so none
// waits for a rank that waits.
void UdpTransport::introduce(std::span<const measure::ConnectionId> ids) {
  const auto deadline = after_seconds(context_.timeout_seconds);
  // The inbox numbers lanes in the order in which they are added. The numbers are therefore known here,
  // although adding a lane needs the peer's introduction.
  auto number = static_cast<std::uint32_t>(connections_.size());
  std::vector<int> fds;
  for (const auto& id : ids) {
    const auto& lane = tcp_.at({.channel = id.channel, .rail = id.rail, .peer = id.peer});
    fds.push_back(lane.connections.front().fd.get());
    const Introduction mine{.nonce = nonces_.at(id.rail),
                            .lane = number++,
                            .chunk_bytes = static_cast<std::uint32_t>(chunk_bytes_.at(id.rail)),
                            .port = sockets_.at(id.rail)->port()};
    tcp::with_peer(context_, id,
                   [&] { session::send_all(fds.back(), std::as_bytes(std::span(&mine, 1)), deadline); });
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& id = ids[i];
    Introduction theirs;
    tcp::with_peer(context_, id, [&] {
      session::receive_all(fds[i], std::as_writable_bytes(std::span(&theirs, 1)), deadline);
    });
    check_introduction(theirs, id.peer);
    auto connection = std::make_unique<UdpConnection>(id, fds[i]);
    connection->to = context_.addresses.at(id.rail).at(id.peer).with_port(theirs.port);
    connection->token = token_of(context_.secret, theirs.nonce);
    connection->peers_number = theirs.lane;
    connection->number = inbox_.add_lane(theirs.chunk_bytes);
    numbers_.emplace(id, connection->number);
    connections_.push_back(std::move(connection));
  }
}

void UdpTransport::start_phase(std::span<const program::Op> ops) {
  ops_ = ops;
  connection_of_.resize(ops.size());
  sent_at_.assign(ops.size(), 0);
  std::vector<UdpInbox::Receive> receives;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto& op = ops[i];
    connection_of_[i] = numbers_.at({op.peer, op.channel, op.rail});
    if (op.kind == program::Op::Kind::receive) {
      receives.push_back({static_cast<program::OpIndex>(i), connection_of_[i], op.bytes});
    }
  }
  inbox_.start_phase(ops.size(), receives);
  for (auto* list : {&sending_, &speaking_, &hearing_}) list->reserve(connections_.size());
  moved_at_ = heard_at_ = now();
}

void UdpTransport::post(const program::Op& op, program::OpIndex index, std::byte* data) {
  auto& connection = connection_of(index);
  if (op.kind == program::Op::Kind::receive) {
    inbox_.post(index, data, now());
    if (!std::exchange(connection.hearing, true)) hearing_.push_back(&connection);
    return;
  }
  const auto bytes = static_cast<std::uint64_t>(op.bytes);
  connection.outgoing.push({.op = index,
                            .data = data,
                            .bytes = bytes,
                            .chunks = chunks_of(bytes, chunk_bytes_[op.rail]),
                            .next_chunk = 0});
  if (!std::exchange(connection.sending, true)) sending_.push_back(&connection);
}

void UdpTransport::tell_alive() {
  progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void UdpTransport::moved() {
  moved_at_ = now();
  tell_alive();
}

std::size_t UdpTransport::batch_of(const UdpOutgoing& message, std::size_t chunk_bytes) const {
  auto bytes = static_cast<double>(UdpSocket::batch_bytes);
  if (nanoseconds_per_byte_ > 0) bytes = std::min(bytes, paced_burst_nanoseconds / nanoseconds_per_byte_);
  const auto each = sizeof(DatagramHeader) + chunk_bytes;
  const auto fitting =
      std::clamp<std::size_t>(static_cast<std::size_t>(bytes) / each, 1, UdpSocket::batch_datagrams);
  return static_cast<std::size_t>(std::min<std::uint64_t>(fitting, message.chunks - message.next_chunk));
}

// Sends a batch of the connection's first message. Returns true if anything was sent.
bool UdpTransport::push(UdpConnection& connection, std::vector<program::OpIndex>& completed) {
  auto& message = connection.outgoing.front();
  const auto chunk_bytes = chunk_bytes_[connection.id().rail];
  const auto count = batch_of(message, chunk_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    headers_[i] = {.token = connection.token,
                   .message = connection.handed_over,
                   .lane = connection.peers_number,
                   .chunk = static_cast<std::uint32_t>(message.next_chunk + i)};
  }
  const auto from = message.next_chunk * chunk_bytes;
  const auto bytes = std::min(count * chunk_bytes, message.bytes - from);
  std::size_t taken = 0;
  tcp::with_peer(context_, connection.id(), [&] {
    taken = sockets_[connection.id().rail]->send(connection.to, std::span(headers_).first(count),
                                                 {message.data + from, bytes}, chunk_bytes);
  });
  blocked_ = blocked_ || taken == 0;
  if (taken == 0) return false;
  moved();
  if (nanoseconds_per_byte_ > 0) {
    const auto sent = static_cast<double>(std::min(taken * chunk_bytes, bytes));
    depart_at_ = std::max(depart_at_, moved_at_) + std::llround(sent * nanoseconds_per_byte_);
  }
  message.next_chunk += taken;
  if (message.next_chunk < message.chunks) return true;
  ++connection.handed_over;
  sent_at_[static_cast<std::size_t>(message.op)] = moved_at_;
  completed.push_back(message.op);
  connection.outgoing.pop();
  if (!std::exchange(connection.speaking, true)) speaking_.push_back(&connection);
  return true;
}

// Sends a batch of each connection in turn, so that all make progress; pacing may stop the round at any of
// them. Returns true if anything was sent.
bool UdpTransport::push(std::vector<program::OpIndex>& completed) {
  bool any = false;
  blocked_ = false;
  for (auto left = sending_.size(); left > 0; --left) {
    if (nanoseconds_per_byte_ > 0 && depart_at_ > now()) {
      tell_alive();  // at a low rate it may be long until the next datagram
      break;
    }
    if (turn_ >= sending_.size()) turn_ = 0;
    auto& connection = *sending_[turn_];
    any = push(connection, completed) || any;
    if (connection.outgoing.empty()) {
      connection.sending = false;
      sending_[turn_] = sending_.back();
      sending_.pop_back();
    } else {
      ++turn_;
    }
  }
  return any;
}

// Takes the datagrams just received from a rail's socket. Returns true if any was of use.
bool UdpTransport::take(std::size_t rail, std::int64_t time) {
  bool any = false;
  for (const auto& [header, payload] : datagrams_) {
    const bool meant = header.token == sockets_[rail]->token() && header.lane < connections_.size() &&
                       connections_[header.lane]->id().rail == rail;
    if (!meant) {
      inbox_.refuse(1);
    } else {
      any = inbox_.take(header.lane, header.message, header.chunk, payload, time) || any;
    }
  }
  return any;
}

// Receives from all sockets. Returns true if anything of use came.
bool UdpTransport::pull(bool may_wait) {
  bool any = false;
  emptied_ = true;
  for (std::size_t rail = 0; rail < sockets_.size(); ++rail) {
    // Empty the socket before it overflows, but do not let a flood keep the rank from sending.
    constexpr int most_batches = 8;
    bool more = true;
    for (int i = 0; i < most_batches && more && inbox_.completed().empty(); ++i) {
      std::int64_t useless = 0;
      more = sockets_[rail]->receive(datagrams_, useless, may_wait && i == 0);
      inbox_.refuse(useless);
      if (datagrams_.empty()) continue;
      if (tamper_) tamper_(datagrams_);
      if (!take(rail, now())) continue;
      moved();
      any = true;
    }
    emptied_ = emptied_ && !more;
  }
  return any;
}

bool UdpTransport::hand_out(std::vector<program::OpIndex>& completed) {
  auto& done = inbox_.completed();
  completed.insert(completed.end(), done.begin(), done.end());
  done.clear();
  return !completed.empty();
}

void UdpTransport::wait(std::vector<program::OpIndex>& completed) {
  if (hand_out(completed)) return;
  while (true) {
    if (context_.control_thread.interrupted())
      throw session::ConnectionLost("interrupted while waiting for datagrams");
    const bool sent = push(completed);
    if (!completed.empty()) return;
    // A blocking receive is the cheapest sleep if there is only one thing to wait for and the wait has just
    // begun.
    const bool may_wait = !polling_ && sockets_.size() == 1 && sending_.empty() &&
                          now() - moved_at_ < quiet_nanoseconds && inbox_.next_deadline() == UdpInbox::never;
    const bool came = pull(may_wait);
    if (hand_out(completed)) return;
    // Traffic on some connections must not starve the others.
    if (moved_at_ - heard_at_ >= busy_nanoseconds) confer(moved_at_);
    if (emptied_ && inbox_.next_deadline() <= moved_at_) inbox_.give_up_overdue(moved_at_);
    if (hand_out(completed)) return;
    if (!sent && !came) rest();
    if (hand_out(completed)) return;
  }
}

void UdpTransport::execute(const program::Op& op, std::byte* data) {
  executed_.clear();
  post(op, static_cast<program::OpIndex>(&op - ops_.data()), data);
  wait(executed_);
}

std::int64_t UdpTransport::lost_bytes(program::OpIndex index) const {
  const auto& op = ops_[static_cast<std::size_t>(index)];
  return op.kind == program::Op::Kind::receive ? inbox_.lost_bytes(index) : 0;
}

std::int64_t UdpTransport::moved_at(program::OpIndex index) const {
  if (index < 0) {
    if (ops_.empty()) return now();
    std::int64_t last = 0;
    for (std::size_t i = 0; i < ops_.size(); ++i)
      last = std::max(last, moved_at(static_cast<program::OpIndex>(i)));
    return last;
  }
  const auto& op = ops_[static_cast<std::size_t>(index)];
  return op.kind == program::Op::Kind::receive ? inbox_.moved_at(index)
                                               : sent_at_[static_cast<std::size_t>(index)];
}

void UdpTransport::disconnect() {
  for (auto* list : {&sending_, &speaking_, &hearing_}) list->clear();
  numbers_.clear();
  connections_.clear();
  inbox_.clear();
  sockets_.clear();
  nonces_.clear();
  chunk_bytes_.clear();
  tcp_.close_all();
  depart_at_ = 0;
  turn_ = 0;
}

std::int64_t UdpTransport::kernel_drops() const {
  std::int64_t drops = 0;
  for (const auto& socket : sockets_) drops += socket->kernel_drops();
  return drops;
}

json::Value UdpTransport::facts() const {
  const auto& counts = inbox_.counts();
  json::Object facts{{"header_bytes", static_cast<std::int64_t>(sizeof(DatagramHeader))},
                     {"messages_cut_short", counts.cut_short},
                     {"datagrams_late", counts.late},
                     {"datagrams_refused", counts.useless},
                     {"datagrams_crowded_out", counts.crowded},
                     {"datagrams_dropped_by_kernel", kernel_drops()}};
  if (sockets_.empty()) return facts;
  facts.emplace_back("datagram_bytes", static_cast<std::int64_t>(chunk_bytes_.front()));
  facts.emplace_back("offload", sockets_.front()->offload());
  facts.emplace_back("send_buffer", sockets_.front()->buffer_bytes(SO_SNDBUF));
  facts.emplace_back("receive_buffer", sockets_.front()->buffer_bytes(SO_RCVBUF));
  return facts;
}

}  // namespace crosscut::backends::udp
