// Owned TCP sockets, transfers with deadlines, and numeric addresses.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"

namespace crosscut::session {

class Address {
 public:
  Address() = default;
  Address(const sockaddr* address, socklen_t length);
  // Parses "10.0.0.1:4000" or "[fd00::1]:4000"; looks up no names. Throws UsageError.
  static Address parse(std::string_view text);
  // Returns a numeric address as given, or the first address of this machine's interface with that name
  // ("ib0"); the port is 0. Throws UsageError.
  static Address of_interface(std::string_view name);
  std::string text() const;  // "10.0.0.1:4000"
  std::string host() const;  // "10.0.0.1"
  std::uint16_t port() const;
  Address with_port(std::uint16_t port) const;
  const sockaddr* data() const { return &any_; }
  socklen_t length() const { return length_; }
  int family() const { return storage_.ss_family; }
  std::span<const std::byte> number() const;  // the 4 or 16 bytes of the host's address, in network order

 private:
  union {
    sockaddr_storage storage_{};
    sockaddr any_;
    sockaddr_in v4_;
    sockaddr_in6 v6_;
  };
  socklen_t length_ = 0;
};

struct LocalAddress {
  std::string interface;
  Address address;
  unsigned flags = 0;  // of the interface: IFF_UP, ...
};
// Returns the addresses of this machine's interfaces, IPv4 first.
std::vector<LocalAddress> local_addresses();

// Thrown if a connection cannot be made, is closed or reset by the peer, is shut down by this process, or
// misses its deadline; what() says which.
class ConnectionLost : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

Fd listen_on(const Address& address, int backlog = 4096);
Address local_address(int fd);
// Makes a connected socket blocking and turns off Nagle's algorithm (TCP_NODELAY).
void make_stream(int fd);
// Connects, from the local address `from` if given. Throws ConnectionLost with the cause.
Fd connect_to(const Address& to, const std::optional<Address>& from, Deadline deadline);

// Transfer the whole buffer. Throw ConnectionLost if the connection ends or the deadline passes.
void send_all(int fd, std::span<const std::byte> bytes, Deadline deadline);
void receive_all(int fd, std::span<std::byte> bytes, Deadline deadline);
// Receives the available bytes without blocking and returns their number (0: none yet). Throws
// ConnectionLost.
std::size_t receive_some(int fd, std::span<std::byte> bytes);
// Waits until bytes can be received. Throws ConnectionLost if the deadline passes.
void await_some(int fd, Deadline deadline);

}  // namespace crosscut::session
