// This is a separate file because only linux/tcp.h has all of tcp_info, and it cannot be included together
// with netinet/tcp.h.
#include "session/carried.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "session/socket.hpp"

namespace crosscut::session {
namespace {

Address end_of(int fd, int (*which)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  return which(fd, address, &length) == 0 ? Address(address, length) : Address();
}

}  // namespace

Carried& Carried::operator+=(const Carried& other) {
  sent_bytes += other.sent_bytes;
  received_bytes += other.received_bytes;
  sent_segments += other.sent_segments;
  received_segments += other.received_segments;
  return *this;
}

Carried carried(int fd) {
  if (fd < 0) return {};
  const auto mine = end_of(fd, ::getsockname), theirs = end_of(fd, ::getpeername);
  tcp_info info{};
  socklen_t length = sizeof info;
  if (std::ranges::equal(mine.number(), theirs.number()) ||
      ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
    return {};
  return {static_cast<std::int64_t>(info.tcpi_bytes_sent),
          static_cast<std::int64_t>(info.tcpi_bytes_received), std::int64_t{info.tcpi_segs_out},
          std::int64_t{info.tcpi_segs_in}};
}

Carried carried_in(const json::Value& value) {
  return {value.at("sent_bytes").integer(), value.at("received_bytes").integer(),
          value.at("sent_segments").integer(), value.at("received_segments").integer()};
}

json::Object to_json(const Carried& carried) {
  return {{"sent_bytes", carried.sent_bytes},
          {"received_bytes", carried.received_bytes},
          {"sent_segments", carried.sent_segments},
          {"received_segments", carried.received_segments}};
}

}  // namespace crosscut::session
