// Sockets with owners, deadlines, and errors that name the other end. All system calls are checked here.
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
  // "10.0.0.1:4000", "[fd00::1]:4000". Numeric only: no name look-up. Throws UsageError.
  static Address parse(std::string_view text);
  // A numeric address, or the name of an interface of this machine ("ib0"); port 0. Throws UsageError.
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
// Returns the addresses of this machine's interfaces, those of IPv4 first.
std::vector<LocalAddress> local_addresses();

// Thrown if the peer closed or reset the connection, or if this process shut it down; what() says which.
class ConnectionLost : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

Fd listen_on(const Address& address, int backlog = 4096);
Address local_address(int fd);
// Makes a connected socket blocking and sends short messages at once (TCP_NODELAY).
void make_stream(int fd);
// Connects, optionally from a given local interface. Throws ConnectionLost with the cause.
Fd connect_to(const Address& to, const std::optional<Address>& from, Deadline deadline);

// Transfer the whole buffer or throw ConnectionLost, also if the deadline passes.
void send_all(int fd, std::span<const std::byte> bytes, Deadline deadline);
void receive_all(int fd, std::span<std::byte> bytes, Deadline deadline);
// Receives what has come, without waiting; returns how many bytes. Throws ConnectionLost.
std::size_t receive_some(int fd, std::span<std::byte> bytes);
// Waits until something can be received, or throws ConnectionLost when the deadline passes.
void await_some(int fd, Deadline deadline);

}  // namespace crosscut::session
