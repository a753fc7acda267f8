// While nothing arrives, the UDP transport reads its peers' counts from TCP, gives up overdue receives, and
// sleeps.
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "backends/udp/transport.hpp"

namespace crosscut::backends::udp {
namespace {

// Longest sleep of a rank that nothing wakes.
constexpr std::int64_t longest_sleep_nanoseconds = 100'000'000;

}  // namespace

void UdpTransport::rest() {
  const auto time = now();
  const bool quiet = time - moved_at_ >= quiet_nanoseconds;
  if (quiet && time - heard_at_ >= quiet_nanoseconds) confer(time);
  if (emptied_) inbox_.give_up_overdue(time);
  if (inbox_.completed().empty() && !polling_) sleep(time, quiet);
}

void UdpTransport::confer(std::int64_t time) {
  speak(true);
  hear();
  heard_at_ = time;
}

void UdpTransport::sleep(std::int64_t time, bool watching_peers) {
  auto until = time + (watching_peers ? longest_sleep_nanoseconds : quiet_nanoseconds);
  until = std::min(until, inbox_.next_deadline());
  const bool paced = !sending_.empty() && nanoseconds_per_byte_ > 0;
  if (paced && depart_at_ > time) until = std::min(until, depart_at_);
  watched_.clear();
  for (const auto& socket : sockets_) {
    watched_.push_back({socket->fd(), static_cast<short>(blocked_ ? POLLIN | POLLOUT : POLLIN), 0});
  }
  if (watching_peers) {
    for (const auto* connection : hearing_) {
      if (inbox_.awaits(connection->number)) watched_.push_back({connection->tcp_fd(), POLLIN, 0});
    }
  }
  const auto left = std::max<std::int64_t>(until - time, 0);
  const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
  if (::ppoll(watched_.data(), watched_.size(), &limit, nullptr) < 0 && errno != EINTR) {
    throw_errno("wait for datagrams");
  }
  const auto spoken_to = std::any_of(watched_.begin() + static_cast<std::ptrdiff_t>(sockets_.size()),
                                     watched_.end(), [](const pollfd& one) { return one.revents != 0; });
  if (spoken_to) hear();
}

// Tells peers how many messages were sent; connections without room stay in the list. `in_band` also sends a
// mark behind the data. Do not use it after a phase: the mark would be read in the next one.
void UdpTransport::speak(bool in_band) {
  std::erase_if(speaking_, [&](UdpConnection* connection) {
    if (in_band) send_mark(*connection);
    connection->speaking = !connection->announce();
    return !connection->speaking;
  });
}

// Sends a mark, which may be lost like any datagram; TCP carries the same count.
void UdpTransport::send_mark(const UdpConnection& connection) {
  const DatagramHeader mark{.token = connection.token,
                            .message = connection.handed_over,
                            .lane = connection.peers_number,
                            .chunk = mark_chunk};
  tcp::with_peer(context_, connection.id(),
                 [&] { sockets_[connection.id().rail]->send(connection.to, std::span(&mark, 1), {}, 0); });
}

void UdpTransport::hear() {
  for (auto* connection : hearing_) {
    std::uint64_t messages = 0;
    const bool connected = connection->hear(messages);
    inbox_.handed_over(connection->number, messages, UdpInbox::Said::out_of_band, now());
    if (!connected && inbox_.awaits(connection->number)) {
      throw measure::PeerLost(
          connection->id().peer,
          "receiving from rank " + std::to_string(connection->id().peer) + ": it closed the connection");
    }
  }
}

void UdpTransport::settle() {
  while (true) {
    speak(false);
    hear();
    if (speaking_.empty()) break;
    if (context_.control_thread.interrupted()) throw session::ConnectionLost("interrupted after a phase");
    // A connection is full: its peer has not read for a long time, but will when it waits or settles.
    watched_.clear();
    for (const auto* connection : speaking_) watched_.push_back({connection->tcp_fd(), POLLOUT, 0});
    for (const auto* connection : hearing_) watched_.push_back({connection->tcp_fd(), POLLIN, 0});
    constexpr int look_up_milliseconds = 100;
    if (::poll(watched_.data(), watched_.size(), look_up_milliseconds) < 0 && errno != EINTR) {
      throw_errno("wait for connections");
    }
  }
  for (auto* connection : hearing_) connection->hearing = false;
  hearing_.clear();
}

}  // namespace crosscut::backends::udp
