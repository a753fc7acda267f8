// Kernel TCP: connections stay in blocking mode and are used without waiting through MSG_DONTWAIT, so that a
// chain of operations (a ping-pong) costs one system call for each, and overlapping ones share one poll().
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "backends/tcp/connections.hpp"
#include "measure/live.hpp"

namespace crosscut::backends::tcp {
namespace {

constexpr std::array parameters{
    program::Parameter{.name = "send-buffer",
                       .kind = program::Parameter::Kind::bytes,
                       .unit = "bytes",
                       .initial = "0",
                       .help = "send buffer of a connection (SO_SNDBUF); 0 leaves it to the kernel",
                       .maximum = 1e9},
    program::Parameter{.name = "receive-buffer",
                       .kind = program::Parameter::Kind::bytes,
                       .unit = "bytes",
                       .initial = "0",
                       .help = "receive buffer of a connection (SO_RCVBUF); 0 leaves it to the kernel",
                       .maximum = 1e9},
    program::Parameter{.name = "congestion-control",
                       .kind = program::Parameter::Kind::text,
                       .help = "congestion control such as cubic, reno or dctcp; empty takes the system's"},
    program::Parameter{.name = "nodelay",
                       .kind = program::Parameter::Kind::boolean,
                       .initial = "true",
                       .help = "send short segments at once (TCP_NODELAY)"},
};

class TcpTransport : public measure::HostTransport {
 public:
  TcpTransport(const measure::BackendContext& context, const program::Parameters& given)
      : progress_(context.control_thread.progress()),
        polling_(context.polling),
        connections_(context, {.send_buffer_bytes = given.integer("send-buffer"),
                               .receive_buffer_bytes = given.integer("receive-buffer"),
                               .congestion_control = given.text("congestion-control"),
                               .no_delay = given.boolean("nodelay")}) {}

  void connect(std::span<const measure::ConnectionId> ids, std::uint32_t epoch) {
    connections_.open(ids, epoch);
  }
  void disconnect() {
    active_.clear();
    connections_.close_all();
  }
  void interrupt() { connections_.shut_all(); }
  json::Value facts() const { return connections_.facts(); }
  json::Value losses() { return connections_.losses(); }

  void post(const program::Op& op, program::OpIndex index, std::byte* data);
  void wait(std::vector<program::OpIndex>& completed);
  void execute(const program::Op& op, std::byte* data);

 private:
  // TCP has no empty messages: a message of 0 bytes is one byte on the wire.
  Transfer transfer(const program::Op& op, program::OpIndex index, std::byte* data) {
    if (op.bytes > 0) return {index, data, static_cast<std::size_t>(op.bytes)};
    return {index, &token_, 1};
  }
  bool push(TcpConnection& connection, std::vector<program::OpIndex>& completed);
  bool pull(TcpConnection& connection, std::vector<program::OpIndex>& completed);
  void advance_all(std::vector<program::OpIndex>& completed);
  void sleep(std::vector<program::OpIndex>& completed);
  void forget_idle();
  void moved() { progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  std::atomic<std::uint64_t>& progress_;
  bool polling_;
  TcpConnections connections_;
  std::vector<TcpConnection*> active_;
  std::vector<pollfd> watched_;
  std::byte token_{};
};

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

[[noreturn]] void lose(const TcpConnection& connection, const char* doing, bool closed) {
  const auto what = std::string(doing) + " rank " + std::to_string(connection.id.peer);
  throw measure::PeerLost(connection.id.peer,
                          what + ": " + (closed ? "it closed the connection" : std::strerror(errno)), what);
}

void TcpTransport::post(const program::Op& op, program::OpIndex index, std::byte* data) {
  auto& connection = connections_.at(op);
  (op.kind == program::Op::Kind::send ? connection.sends : connection.receives)
      .push(transfer(op, index, data));
  if (!connection.active) {
    connection.active = true;
    active_.push_back(&connection);
  }
}

// True if anything moved.
bool TcpTransport::push(TcpConnection& connection, std::vector<program::OpIndex>& completed) {
  bool any = false;
  while (!connection.sends.empty()) {
    auto& front = connection.sends.front();
    const auto sent = ::send(connection.fd.get(), front.data, front.left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (again()) return any;
      lose(connection, "sending to", false);
    }
    moved();
    any = true;
    front.data += sent;
    front.left -= static_cast<std::size_t>(sent);
    if (front.left > 0) return true;
    completed.push_back(front.index);
    connection.sends.pop();
  }
  return any;
}

bool TcpTransport::pull(TcpConnection& connection, std::vector<program::OpIndex>& completed) {
  bool any = false;
  while (!connection.receives.empty()) {
    auto& front = connection.receives.front();
    const auto got = ::recv(connection.fd.get(), front.data, front.left, MSG_DONTWAIT);
    if (got == 0) lose(connection, "receiving from", true);
    if (got < 0) {
      if (again()) return any;
      lose(connection, "receiving from", false);
    }
    moved();
    any = true;
    front.data += got;
    front.left -= static_cast<std::size_t>(got);
    if (front.left > 0) return true;
    completed.push_back(front.index);
    connection.receives.pop();
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
      const bool received = pull(*connection, completed);
      const bool sent = push(*connection, completed);
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
  if (::poll(watched_.data(), watched_.size(), -1) < 0 && errno != EINTR)
    throw_errno("waiting for connections");
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if ((watched_[i].revents & ~POLLOUT) != 0) pull(*active_[i], completed);
    if ((watched_[i].revents & ~POLLIN) != 0) push(*active_[i], completed);
  }
}

void TcpTransport::wait(std::vector<program::OpIndex>& completed) {
  // With few connections an attempt costs no more than asking first; with many, poll() finds those that are
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
  auto& connection = connections_.at(op);
  auto left = transfer(op, 0, data);
  const bool sending = op.kind == program::Op::Kind::send;
  // Without MSG_WAITALL: taking what is there, call by call, gave 2 % more at the peak rate on loopback
  // (docs/reference/benchmarks.md).
  const int flags = (polling_ ? MSG_DONTWAIT : 0) | (sending ? MSG_NOSIGNAL : 0);
  while (left.left > 0) {
    const auto done = sending ? ::send(connection.fd.get(), left.data, left.left, flags)
                              : ::recv(connection.fd.get(), left.data, left.left, flags);
    if (done < 0) {
      if (again()) continue;
      lose(connection, sending ? "sending to" : "receiving from", false);
    }
    if (done == 0) lose(connection, "receiving from", true);
    moved();
    left.data += done;
    left.left -= static_cast<std::size_t>(done);
  }
}

}  // namespace

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "tcp",
                                .summary = "the kernel's TCP over sockets, full duplex",
                                .parameters = parameters,
                                .tolerates_failure = true,
                                .make = measure::make_live<TcpTransport>};
}  // namespace crosscut::backends::tcp
