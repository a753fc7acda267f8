// This rank's end of one connection: its outgoing messages, and the authenticated TCP connection on which
// both ends say how many messages they have handed to the kernel. Only these counts must not be lost, so TCP
// carries them: the kernel retransmits them even while the process waits in a barrier.
#pragma once

#include <array>
#include <cstdint>

#include "backends/tcp/connections.hpp"
#include "backends/udp/wire.hpp"

namespace crosscut::backends::udp {

struct UdpOutgoing {
  program::OpIndex op = 0;
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t chunks = 0, next_chunk = 0;
};

class UdpConnection {
 public:
  UdpConnection(const measure::ConnectionId& id, int tcp_fd) : id_(id), tcp_fd_(tcp_fd) {}

  const measure::ConnectionId& id() const { return id_; }
  int tcp_fd() const { return tcp_fd_; }

  // Tells the peer how many messages were handed over, unless it knows already. Does not wait: returns false
  // while the connection has no room. Throws PeerLost.
  bool announce();
  // Sets `messages` to the number that the peer says it has handed over, if it has said anything new. Does
  // not wait. Returns false if the connection has ended.
  bool hear(std::uint64_t& messages);

  std::uint64_t handed_over = 0;  // messages handed to the kernel
  session::Address to;
  std::uint64_t token = 0;   // of the peer's socket
  std::uint32_t number = 0;  // of the lane in this rank's inbox
  std::uint32_t peers_number = 0;
  bool sending = false, speaking = false, hearing = false;  // in the transport's lists

  tcp::KeptQueue<UdpOutgoing> outgoing;  // messages not yet handed over

 private:
  measure::ConnectionId id_;
  int tcp_fd_;
  std::uint64_t announced_ = 0;
  std::array<std::byte, sizeof(std::uint64_t)> leaving_{}, coming_{};  // partial counts
  std::size_t left_ = 0, came_ = 0;
};

}  // namespace crosscut::backends::udp
