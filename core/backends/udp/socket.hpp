// A UDP socket that moves many datagrams in one system call and has the kernel drop those of strangers.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <memory>
#include <span>
#include <vector>

#include "backends/udp/wire.hpp"
#include "session/socket.hpp"

namespace crosscut::backends::udp {

struct UdpSocketOptions {
  std::int64_t send_buffer_bytes = 0;     // 0: the kernel's default
  std::int64_t receive_buffer_bytes = 0;  // 0: as much as the system allows (net.core.rmem_max)
  bool offload = true;                    // UDP_SEGMENT and UDP_GRO
};

struct Datagram {
  DatagramHeader header;
  std::span<const std::byte> payload;
};

class UdpSocket {
 public:
  static constexpr std::size_t batch_datagrams = 64;  // the kernel's limit for one call, UDP_MAX_SEGMENTS
  static constexpr std::size_t batch_bytes = most_datagram_bytes;

  // Binds to the interface. The kernel drops every datagram that does not begin with the token.
  UdpSocket(const session::Address& interface, const UdpSocketOptions& options, std::uint64_t token);
  ~UdpSocket();

  int fd() const { return fd_.get(); }
  std::uint16_t port() const { return session::local_address(fd_.get()).port(); }
  std::uint64_t token() const { return token_; }

  // Replaces `datagrams` by those that have arrived, valid until the next call, and adds the number of those
  // too short for a header to `useless`. Without `wait`, or when the patience ends, there may be none.
  // Returns true if more may be waiting.
  bool receive(std::vector<Datagram>& datagrams, std::int64_t& useless, bool wait);
  // Sets how long receive() waits.
  void set_patience(double seconds);

  // Hands pieces of one message to the kernel: headers[i] goes before the i-th `chunk_bytes` of `payload`.
  // Returns how many were taken (0: no room now); those that the kernel itself drops count as taken. Throws
  // UsageError if the route does not carry datagrams of this size, ConnectionLost for any other error.
  std::size_t send(const session::Address& to, std::span<const DatagramHeader> headers,
                   std::span<const std::byte> payload, std::size_t chunk_bytes);

  bool offload() const { return offload_; }
  int buffer_bytes(int option) const;  // SO_RCVBUF or SO_SNDBUF, as in force
  // Returns how many datagrams the kernel dropped: strangers', and those for which the buffer had no room.
  std::int64_t kernel_drops() const;

 private:
  static constexpr std::size_t receive_batch = 16;
  struct Incoming;  // buffers, and their description for recvmmsg()

  void set_buffer(int option, int forced_option, std::int64_t bytes);
  void drop_strangers();
  ssize_t send_one(const session::Address& to, std::span<iovec> pieces, std::size_t segment_bytes);
  std::size_t send_each(const session::Address& to, std::span<iovec> pieces);

  Fd fd_;
  std::uint64_t token_;
  bool offload_;
  std::unique_ptr<Incoming> incoming_;
  std::vector<iovec> pieces_;
};

// Returns the bytes of the largest piece that the interface carries in one unfragmented datagram.
std::size_t chunk_that_fits(const session::Address& interface);

}  // namespace crosscut::backends::udp
