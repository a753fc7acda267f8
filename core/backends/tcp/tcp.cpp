// Kernel TCP. Connections stay in blocking mode, and MSG_DONTWAIT makes single calls non-blocking: a chain of
// operations (a ping-pong) costs one system call per operation, and overlapping operations share one poll().
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "backends/tcp/connections.hpp"
#include "measure/live.hpp"

namespace crosscut::backends::tcp {
namespace {

constexpr std::array parameters{
    buffer_parameter("send-buffer", "send buffer of a connection (SO_SNDBUF); 0 leaves it to the kernel"),
    buffer_parameter("receive-buffer",
                     "receive buffer of a connection (SO_RCVBUF); 0 leaves it to the kernel"),
    program::Parameter{.name = "congestion-control",
                       .kind = program::Parameter::Kind::text,
                       .help = "congestion control such as cubic, reno or dctcp; empty takes the system's"},
    program::Parameter{.name = "nodelay",
                       .kind = program::Parameter::Kind::boolean,
                       .initial = "true",
                       .help = "send short segments at once (TCP_NODELAY)"},
    program::Parameter{
        .name = "connections",
        .kind = program::Parameter::Kind::integer,
        .initial = "1",
        .help = "connections of each route; a message is split over them, and a network that hashes ports "
                "may route each differently",
        .minimum = 1,
        .maximum = 256},
};

class TcpTransport : public measure::HostTransport {
 public:
  TcpTransport(const measure::BackendContext& context, const program::Parameters& given)
      : progress_(context.control_thread.progress()),
        polling_(context.polling),
        connections_(context, {.send_buffer_bytes = given.integer("send-buffer"),
                               .receive_buffer_bytes = given.integer("receive-buffer"),
                               .congestion_control = given.text("congestion-control"),
                               .no_delay = given.boolean("nodelay"),
                               .connections = static_cast<std::size_t>(given.integer("connections"))}) {}

  void begin_job() { connections_.begin_job(); }
  bool has_room_for(std::size_t lanes) const { return connections_.has_room_for(lanes); }
  void expect(std::span<const measure::ConnectionId> ids) { connections_.expect(ids); }
  std::vector<store::Connection> take_new_connections() { return connections_.take_new_connections(); }
  void start_phase(std::span<const program::Op> ops) {
    if (connections_.connections_of_lane() > 1) parts_left_.assign(ops.size(), 0);
  }
  void connect(std::span<const measure::ConnectionId> ids, std::uint32_t epoch) {
    connections_.open(ids, epoch);
  }
  void disconnect() {
    active_.clear();
    connections_.close_all();
  }
  void interrupt() { connections_.shut_all(); }
  json::Value facts() const { return connections_.facts(); }
  json::Value lanes() { return connections_.lanes(); }

  void post(const program::Op& op, program::OpIndex index, std::byte* data);
  void wait(std::vector<program::OpIndex>& completed);
  void execute(const program::Op& op, std::byte* data);

 private:
  // TCP has no empty messages: a message of 0 bytes is one byte on the wire.
  Transfer transfer(const program::Op& op, program::OpIndex index, std::byte* data) {
    if (op.bytes > 0) return {index, data, static_cast<std::size_t>(op.bytes)};
    return {index, &token_, 1};
  }
  void add(TcpConnection& connection, bool sending, const Transfer& transfer);
  void add_parts(TcpLane& lane, bool sending, const Transfer& whole);
  // Counts the transfer as finished. Returns true if this completes its operation.
  bool ends(const Transfer& transfer) {
    return parts_left_.empty() || --parts_left_[static_cast<std::size_t>(transfer.index)] == 0;
  }
  bool move_some(const TcpConnection& connection, bool sending, Transfer& transfer, int flags);
  bool advance(TcpConnection& connection, bool sending, std::vector<program::OpIndex>& completed);
  void advance_all(std::vector<program::OpIndex>& completed);
  void sleep(std::vector<program::OpIndex>& completed);
  void forget_idle();

  std::atomic<std::uint64_t>& progress_;
  bool polling_;
  TcpConnections connections_;
  std::vector<TcpConnection*> active_;
  std::vector<pollfd> watched_;
  std::vector<std::size_t> parts_left_;  // [operation] unfinished parts; empty with one connection a lane
  std::vector<program::OpIndex> alone_;  // the operation that execute() waits for
  std::byte token_{};
};

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

[[noreturn]] void lose(const TcpConnection& connection, bool sending, bool closed) {
  const auto what =
      std::string(sending ? "sending to rank " : "receiving from rank ") + std::to_string(connection.peer);
  throw measure::PeerLost(connection.peer,
                          what + ": " + (closed ? "it closed the connection" : std::strerror(errno)), what);
}

void TcpTransport::post(const program::Op& op, program::OpIndex index, std::byte* data) {
  auto& lane = connections_.at(op);
  const bool sending = op.kind == program::Op::Kind::send;
  if (lane.connections.size() > 1) return add_parts(lane, sending, transfer(op, index, data));
  add(lane.connections.front(), sending, transfer(op, index, data));
}

// Splits an operation over the lane's connections. Both ends split alike, since both know its size.
void TcpTransport::add_parts(TcpLane& lane, bool sending, const Transfer& whole) {
  const auto parts = std::min(lane.connections.size(), whole.left);
  parts_left_[static_cast<std::size_t>(whole.index)] = parts;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto from = begin_of_part(whole.left, parts, part), to = begin_of_part(whole.left, parts, part + 1);
    add(lane.connections[part], sending, {whole.index, whole.data + from, to - from});
  }
}

void TcpTransport::add(TcpConnection& connection, bool sending, const Transfer& transfer) {
  (sending ? connection.sends : connection.receives).push(transfer);
  if (!connection.active) {
    connection.active = true;
    active_.push_back(&connection);
  }
}

// Moves as much as one system call can. Returns false if nothing can move now. Throws PeerLost.
bool TcpTransport::move_some(const TcpConnection& connection, bool sending, Transfer& transfer, int flags) {
  const int fd = connection.fd.get();
  const auto done = sending ? ::send(fd, transfer.data, transfer.left, flags | MSG_NOSIGNAL)
                            : ::recv(fd, transfer.data, transfer.left, flags);
  if (done < 0 && again()) return false;
  if (done <= 0) lose(connection, sending, done == 0);
  progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  transfer.data += done;
  transfer.left -= static_cast<std::size_t>(done);
  return true;
}

// Moves as much as possible without waiting. Returns true if anything moved.
bool TcpTransport::advance(TcpConnection& connection, bool sending,
                           std::vector<program::OpIndex>& completed) {
  auto& queue = sending ? connection.sends : connection.receives;
  bool any = false;
  while (!queue.empty()) {
    auto& front = queue.front();
    if (!move_some(connection, sending, front, MSG_DONTWAIT)) return any;
    any = true;
    if (front.left > 0) return true;
    if (ends(front)) completed.push_back(front.index);
    queue.pop();
  }
  return any;
}

void TcpTransport::forget_idle() {
  std::erase_if(active_, [](TcpConnection* connection) {
    connection->active = !connection->sends.empty() || !connection->receives.empty();
    return !connection->active;
  });
}

void TcpTransport::advance_all(std::vector<program::OpIndex>& completed) {
  bool any = true;
  while (any && completed.empty()) {
    any = false;
    for (auto* connection : active_) {
      const bool received = advance(*connection, false, completed);
      const bool sent = advance(*connection, true, completed);
      any = any || received || sent;
    }
  }
}

void TcpTransport::sleep(std::vector<program::OpIndex>& completed) {
  watched_.clear();
  for (const auto* connection : active_) {
    const auto events =
        (connection->receives.empty() ? 0 : POLLIN) | (connection->sends.empty() ? 0 : POLLOUT);
    watched_.push_back({connection->fd.get(), static_cast<short>(events), 0});
  }
  if (::poll(watched_.data(), watched_.size(), -1) < 0 && errno != EINTR) throw_errno("wait for connections");
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if ((watched_[i].revents & ~POLLOUT) != 0) advance(*active_[i], false, completed);
    if ((watched_[i].revents & ~POLLIN) != 0) advance(*active_[i], true, completed);
  }
}

void TcpTransport::wait(std::vector<program::OpIndex>& completed) {
  // With few connections, trying each costs no more than a poll(); with many, poll() finds those that are
  // ready.
  constexpr std::size_t few = 8;
  while (true) {
    if (polling_ || active_.size() <= few) advance_all(completed);
    if (completed.empty() && !polling_) sleep(completed);
    if (!completed.empty()) break;
  }
  forget_idle();
}

void TcpTransport::execute(const program::Op& op, std::byte* data) {
  auto& lane = connections_.at(op);
  if (lane.connections.size() > 1) {
    alone_.clear();
    post(op, 0, data);
    return wait(alone_);
  }
  const auto& connection = lane.connections.front();
  auto left = transfer(op, 0, data);
  const bool sending = op.kind == program::Op::Kind::send;
  // No MSG_WAITALL: receiving whatever has arrived, call by call, gave a 2 % higher peak rate on loopback
  // (docs/reference/benchmarks.md).
  while (left.left > 0) move_some(connection, sending, left, polling_ ? MSG_DONTWAIT : 0);
}

}  // namespace

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "tcp",
                                .summary = "the kernel's TCP over sockets, full duplex",
                                .parameters = parameters,
                                .tolerates_failure = true,
                                .make = measure::make_live<TcpTransport>};
}  // namespace crosscut::backends::tcp
