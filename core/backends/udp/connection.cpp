#include "backends/udp/connection.hpp"

#include <cerrno>
#include <cstring>

namespace crosscut::backends::udp {

bool UdpConnection::announce() {
  while (left_ > 0 || announced_ < handed_over) {
    if (left_ == 0) {
      announced_ = handed_over;
      std::memcpy(leaving_.data(), &announced_, sizeof announced_);
      left_ = leaving_.size();
    }
    const auto sent =
        ::send(tcp_fd_, leaving_.data() + (leaving_.size() - left_), left_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      left_ -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      throw measure::PeerLost(id_.peer, "telling rank " + std::to_string(id_.peer) +
                                            " how many messages were sent: " + std::strerror(errno));
    }
  }
  return true;
}

bool UdpConnection::hear(std::uint64_t& messages) {
  std::array<std::byte, 512> buffer;
  while (true) {
    const auto got = ::recv(tcp_fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got <= 0) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      coming_[came_] = buffer[i];
      if (++came_ < coming_.size()) continue;
      came_ = 0;
      std::memcpy(&messages, coming_.data(), sizeof messages);
    }
  }
}

}  // namespace crosscut::backends::udp
