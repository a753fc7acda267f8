#include "session/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::session {

Address::Address(const sockaddr* address, socklen_t length)
    : length_(std::min<socklen_t>(length, sizeof storage_)) {
  std::memcpy(&storage_, address, length_);
}

Address Address::parse(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto wrong = [&] {
    return UsageError("'" + std::string(text.substr(0, 80)) +
                      "' is not an address; give a numeric address and a port, such as 10.0.0.1:4000 or "
                      "[fd00::1]:4000");
  };
  if (colon == std::string_view::npos || text.size() > 80) throw wrong();
  unsigned port = 0;
  const auto digits = text.substr(colon + 1);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || port > 65535) throw wrong();
  auto host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const std::string name(host);
  Address address;
  if (::inet_pton(AF_INET, name.c_str(), &address.v4_.sin_addr) == 1) {
    address.v4_.sin_family = AF_INET;
    address.length_ = sizeof address.v4_;
  } else if (::inet_pton(AF_INET6, name.c_str(), &address.v6_.sin6_addr) == 1) {
    address.v6_.sin6_family = AF_INET6;
    address.length_ = sizeof address.v6_;
  } else {
    throw wrong();
  }
  return address.with_port(static_cast<std::uint16_t>(port));
}

Address Address::of_interface(std::string_view name) {
  const std::string text(name);
  try {
    return parse(text.find(':') != std::string::npos ? "[" + text + "]:0" : text + ":0");
  } catch (const UsageError&) {  // not numeric: an interface's name
  }
  std::vector<std::string> known;
  for (const LocalAddress& local : local_addresses()) {
    if (local.interface == text) return local.address;
    if (std::ranges::find(known, local.interface) == known.end()) known.push_back(local.interface);
  }
  throw UsageError("no interface '" + text + "' with an address; choose one of: " + joined(known));
}

std::vector<LocalAddress> local_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw_errno("list the network interfaces");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<LocalAddress> found;
  for (const int family : {AF_INET, AF_INET6}) {
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
      if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == family)
        found.push_back({entry->ifa_name, Address(entry->ifa_addr, length), entry->ifa_flags});
  }
  return found;
}

std::span<const std::byte> Address::number() const {
  if (family() == AF_INET6) return std::as_bytes(std::span(&v6_.sin6_addr, 1));
  return std::as_bytes(std::span(&v4_.sin_addr, 1));
}

std::string Address::host() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (::inet_ntop(family(), number().data(), buffer.data(), buffer.size()) == nullptr) return "?";
  return buffer.data();
}

std::uint16_t Address::port() const { return ntohs(family() == AF_INET6 ? v6_.sin6_port : v4_.sin_port); }

std::string Address::text() const {
  const auto name = family() == AF_INET6 ? "[" + host() + "]" : host();
  return name + ":" + std::to_string(port());
}

Address Address::with_port(std::uint16_t port) const {
  Address copy = *this;
  (family() == AF_INET6 ? copy.v6_.sin6_port : copy.v4_.sin_port) = htons(port);
  return copy;
}

Fd listen_on(const Address& address, int backlog) {
  Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw_errno("create a listening socket");
  const int one = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(fd.get(), address.data(), address.length()) != 0) throw_errno("listen on " + address.text());
  if (::listen(fd.get(), backlog) != 0) throw_errno("listen on " + address.text());
  return fd;
}

Address local_address(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0)
    throw_errno("read a socket's address");
  return {reinterpret_cast<const sockaddr*>(&storage), length};
}

void make_stream(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) throw_errno("set a socket's mode");
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

Fd connect_to(const Address& to, const std::optional<Address>& from, Deadline deadline) {
  Fd fd(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw_errno("create a socket");
  const auto lost = [&](int error) {
    return ConnectionLost("connecting to " + to.text() + ": " + std::strerror(error));
  };
  if (from) {
    // Else the port would be this socket's alone, and a node would run out of ports with a few thousand
    // ranks.
    const int yes = 1;
    ::setsockopt(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
    if (::bind(fd.get(), from->data(), from->length()) != 0) throw lost(errno);
  }
  if (::connect(fd.get(), to.data(), to.length()) != 0) {
    if (errno != EINPROGRESS) throw lost(errno);
    pollfd waiting{fd.get(), POLLOUT, 0};
    int ready = 0;
    do {
      ready = ::poll(&waiting, 1, milliseconds_left(deadline));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) throw lost(ETIMEDOUT);
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) throw lost(error);
  }
  make_stream(fd.get());
  return fd;
}

namespace {

void await(int fd, short events, Deadline deadline) {
  pollfd waiting{fd, events, 0};
  const int ready = ::poll(&waiting, 1, milliseconds_left(deadline));
  if (ready == 0) throw ConnectionLost("no answer in time");
  if (ready < 0 && errno != EINTR) throw_errno("wait for a socket");
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

void send_all(int fd, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (would_block()) {
      await(fd, POLLOUT, deadline);
    } else if (errno != EINTR) {
      throw ConnectionLost(std::string("sending: ") + std::strerror(errno));
    }
  }
}

void receive_all(int fd, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const auto got = receive_some(fd, bytes);
    if (got == 0) await_some(fd, deadline);
    bytes = bytes.subspan(got);
  }
}

std::size_t receive_some(int fd, std::span<std::byte> bytes) {
  while (true) {
    const auto got = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) throw ConnectionLost("the other end closed the connection");
    if (would_block()) return 0;
    if (errno != EINTR) throw ConnectionLost(std::string("receiving: ") + std::strerror(errno));
  }
}

void await_some(int fd, Deadline deadline) { await(fd, POLLIN, deadline); }

}  // namespace crosscut::session
