#include "backends/tcp/connections.hpp"

#include <netinet/tcp.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace crosscut::backends::tcp {
namespace {

constexpr std::size_t descriptors_kept_free = 64;

void set_option(int fd, int level, int name, const void* value, socklen_t length, const std::string& what) {
  if (::setsockopt(fd, level, name, value, length) != 0) throw_errno("set " + what + " of a connection");
}

std::size_t open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) throw_errno("read the limit on open files");
  return limit.rlim_cur;
}

}  // namespace

TcpConnections::TcpConnections(const measure::BackendContext& context, TcpOptions options)
    : context_(context), options_(std::move(options)) {
  const Fd trial(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!trial) throw_errno("open a socket");
  configure(trial.get());
}

void TcpConnections::configure(int fd) const {
  const int no_delay = options_.no_delay ? 1 : 0;
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay, "TCP_NODELAY");
  const auto set_buffer = [&](int name, std::int64_t bytes, const char* what) {
    if (bytes == 0) return;
    const auto asked = static_cast<int>(std::min<std::int64_t>(bytes, 1 << 30));
    set_option(fd, SOL_SOCKET, name, &asked, sizeof asked, what);
  };
  set_buffer(SO_SNDBUF, options_.send_buffer_bytes, "the send buffer");
  set_buffer(SO_RCVBUF, options_.receive_buffer_bytes, "the receive buffer");
  if (!options_.congestion_control.empty()) {
    const auto& name = options_.congestion_control;
    if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) !=
        0) {
      throw UsageError("congestion control '" + name + "' cannot be used here (" + std::strerror(errno) +
                       "); see /proc/sys/net/ipv4/tcp_allowed_congestion_control");
    }
  }
}

Fd TcpConnections::connect(const measure::ConnectionId& id, std::uint16_t stripe, std::uint32_t epoch) const {
  const auto deadline = after_seconds(context_.timeout_seconds);
  if (context_.rank < id.peer) {
    return context_.control_thread.accepted(
        {session::Purpose::data, id.peer, epoch, id.channel, id.rail, stripe}, deadline);
  }
  const auto to = context_.addresses.at(id.rail).at(id.peer);
  const auto& from = context_.interfaces.at(id.rail);
  const session::Hello hello{session::Purpose::data, context_.rank, epoch, id.channel, id.rail, stripe};
  // Retries, because a listener's queue may overflow when thousands connect at once.
  for (auto pause = std::chrono::milliseconds(5);;
       pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
    try {
      return session::connect_authenticated(to, from, context_.secret, hello, deadline);
    } catch (const session::ConnectionLost&) {
      if (context_.control_thread.interrupted() || milliseconds_left(deadline) == 0) throw;
      std::this_thread::sleep_for(pause);
    }
  }
}

bool TcpConnections::has_room_for(std::size_t lanes) const {
  return (lanes_.size() + lanes) * options_.connections + descriptors_kept_free <= open_files_limit();
}

void TcpConnections::expect(std::span<const measure::ConnectionId> ids) const {
  const auto missing = std::count_if(ids.begin(), ids.end(),
                                     [&](const measure::ConnectionId& id) { return !lanes_.contains(id); });
  if (has_room_for(static_cast<std::size_t>(missing))) return;
  const auto needed = (lanes_.size() + static_cast<std::size_t>(missing)) * options_.connections;
  throw UsageError("rank " + std::to_string(context_.rank) + " needs " + std::to_string(needed) +
                   " connections, but may open only " + std::to_string(open_files_limit()) +
                   " files; raise the limit with ulimit -n " +
                   std::to_string(needed + descriptors_kept_free) +
                   (options_.connections > 1 ? ", or lower --tcp-connections" : ""));
}

void TcpConnections::open(std::span<const measure::ConnectionId> ids, std::uint32_t epoch) {
  std::vector<measure::ConnectionId> missing;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(missing),
               [&](const measure::ConnectionId& id) { return !lanes_.contains(id); });
  // `ids` are sorted by peer, so a rank connects to lower ranks before it accepts from higher ones. No ranks
  // wait for each other in a cycle.
  for (const auto& id : missing) {
    with_peer(context_, id, [&] { open_lane(id, epoch); });
  }
  for (const auto& id : ids) tell(*lanes_.at(id));
}

void TcpConnections::open_lane(const measure::ConnectionId& id, std::uint32_t epoch) {
  auto lane = std::make_unique<TcpLane>();
  lane->id = id;
  lane->connections.resize(options_.connections);
  for (std::size_t stripe = 0; stripe < lane->connections.size(); ++stripe) {
    auto& connection = lane->connections[stripe];
    connection.peer = id.peer;
    connection.fd = connect(id, static_cast<std::uint16_t>(stripe), epoch);
    configure(connection.fd.get());
  }
  const std::lock_guard lock(closing_);
  lanes_.emplace(id, std::move(lane));
}

void TcpConnections::begin_job() {
  new_.clear();
  for (const auto& [id, lane] : lanes_) lane->is_told = false;
}

// Both ends have the same connections; only the one that connected reports them.
void TcpConnections::tell(TcpLane& lane) {
  if (std::exchange(lane.is_told, true) || context_.rank < lane.id.peer) return;
  const auto first = static_cast<std::int32_t>(lane.id.channel * lane.connections.size());
  const auto listener = context_.addresses.at(lane.id.rail).at(lane.id.peer);
  for (std::size_t stripe = 0; stripe < lane.connections.size(); ++stripe) {
    new_.push_back({.rank = context_.rank,
                    .peer = lane.id.peer,
                    .index = first + static_cast<std::int32_t>(stripe),
                    .rail = lane.id.rail,
                    .local_port = session::local_address(lane.connections[stripe].fd.get()).port(),
                    .remote_port = listener.port()});
  }
}

void TcpConnections::close_all() {
  const std::lock_guard lock(closing_);
  lanes_.clear();
  last_ = nullptr;
}

void TcpConnections::shut_all() {
  const std::lock_guard lock(closing_);
  for (const auto& [id, lane] : lanes_)
    for (const auto& connection : lane->connections) ::shutdown(connection.fd.get(), SHUT_RDWR);
}

json::Value TcpConnections::facts() const {
  const std::lock_guard lock(closing_);
  json::Object facts{{"no_delay", options_.no_delay},
                     {"send_buffer_asked", options_.send_buffer_bytes},
                     {"receive_buffer_asked", options_.receive_buffer_bytes}};
  if (lanes_.empty()) return facts;
  const int fd = lanes_.begin()->second->connections.front().fd.get();
  std::array<char, 16> name{};
  socklen_t length = name.size() - 1;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) == 0) {
    facts.emplace_back("congestion_control", std::string(name.data()));
  }
  const auto read_back = [&](int level, int option, const char* key) {
    int value = 0;
    socklen_t size = sizeof value;
    if (::getsockopt(fd, level, option, &value, &size) == 0) facts.emplace_back(key, value);
  };
  read_back(SOL_SOCKET, SO_SNDBUF, "send_buffer");
  read_back(SOL_SOCKET, SO_RCVBUF, "receive_buffer");
  read_back(IPPROTO_TCP, TCP_MAXSEG, "maximum_segment");
  return facts;
}

}  // namespace crosscut::backends::tcp
