// The handshake that opens every connection: each side proves that it knows the run's secret before the other
// parses any further byte.
//
// Three messages of fixed length. Listener: magic, nonce L. Connector: hello, nonce C, HMAC(secret, "connect"
// | L | hello | C). Listener: HMAC(secret, "accept" | L | hello | C). No hello can be replayed or
// altered.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "base/sha256.hpp"
#include "program/program.hpp"
#include "session/socket.hpp"

namespace crosscut::session {

enum class Purpose : std::uint32_t { control = 1, tree = 2, data = 3 };

// Identifies a connection; the handshake authenticates it. Sent as its bytes: little-endian, no padding.
struct Hello {
  Purpose purpose = Purpose::control;
  Rank rank = -1;             // of the connector
  std::uint32_t epoch = 0;    // number of the set of living ranks that the connection belongs to
  std::uint32_t channel = 0;  // data
  std::uint16_t rail = 0;     // data
  std::uint16_t stripe = 0;   // data: see ConnectionId
  friend bool operator==(const Hello&, const Hello&) = default;
};

// Connects, from the local address `from` if given, and authenticates. Throws ConnectionLost naming the other
// end and the cause.
Fd connect_authenticated(const Address& to, const std::optional<Address>& from, std::string_view secret,
                         const Hello& hello, Deadline deadline);

// A listener and its connections that are not yet authenticated. It closes a connection that does not
// authenticate within `patience_seconds`, and the oldest connection if there are more than `most_pending`. No
// allocation depends on unauthenticated input.
class Acceptor {
 public:
  struct Accepted {
    Fd fd;
    Hello hello;
  };
  static constexpr std::size_t most_pending = 512;

  Acceptor(const Address& interface, std::string secret, double patience_seconds = 5);
  Address address() const;
  int poll_fd() const { return epoll_.get(); }  // readable when `service` has work
  // Advances all handshakes without blocking and passes each authenticated connection to `accepted`.
  void service(const std::function<void(Accepted)>& accepted);
  bool has_pending() const { return !pending_.empty(); }

 private:
  struct Pending;
  void accept_new();
  bool advance(Pending& pending, const std::function<void(Accepted)>& accepted);

  std::string secret_;
  double patience_seconds_;
  Fd listener_;
  Fd epoll_;
  std::list<Pending> pending_;
};

struct Acceptor::Pending {
  Fd fd;
  Deadline deadline;
  Digest nonce;
  std::array<std::byte, 84> received;  // hello, nonce, code
  std::size_t have = 0;
};

}  // namespace crosscut::session
