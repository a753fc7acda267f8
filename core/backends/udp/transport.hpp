// UDP as a transport: lost data stays lost, and is counted.
//
// Data travels over UDP alone. The authenticated TCP connections, which also exchange ports and nonces, carry
// the number of messages handed to the kernel: after each phase, untimed, and within a phase now and then
// (see below). So every message ends, whatever is lost, and no rank has to stay to retransmit or acknowledge
// anything.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <map>

#include "backends/tcp/connections.hpp"
#include "backends/udp/connection.hpp"
#include "backends/udp/inbox.hpp"
#include "backends/udp/socket.hpp"

namespace crosscut::backends::udp {

class UdpTransport : public measure::HostTransport {
 public:
  static constexpr bool is_lossy = true;
  // After this long without a datagram, a rank tells its peers how many messages it has sent, and reads how
  // many they have sent.
  static constexpr std::int64_t quiet_nanoseconds = 1'000'000;
  // It does so at least this often while datagrams move.
  static constexpr std::int64_t busy_nanoseconds = 10'000'000;

  // For tests: drops, repeats or reorders received datagrams, as a network may.
  using Tamper = std::function<void(std::vector<Datagram>&)>;

  UdpTransport(const measure::BackendContext& context, const program::Parameters& given, Tamper tamper = {});

  bool has_room_for(std::size_t lanes) const { return tcp_.has_room_for(lanes); }
  void expect(std::span<const measure::ConnectionId> ids) { tcp_.expect(ids); }
  void connect(std::span<const measure::ConnectionId> ids, std::uint32_t epoch);
  void start_phase(std::span<const program::Op> ops);
  void post(const program::Op& op, program::OpIndex index, std::byte* data);
  void wait(std::vector<program::OpIndex>& completed);
  void execute(const program::Op& op, std::byte* data);
  // Call after a phase: tells peers how many messages were sent, so that those that miss some can go on.
  void settle();
  // Returns the bytes that a receive lost, over all iterations; 0 for a send.
  std::int64_t lost_bytes(program::OpIndex index) const;
  // Returns when the last byte of a finished operation moved; for phase_start, the last byte of all
  // operations. This excludes the wait for bytes that never came, unless none came at all.
  std::int64_t moved_at(program::OpIndex index) const;
  void disconnect();
  void interrupt() { tcp_.shut_all(); }
  json::Value facts() const;

  const UdpInbox::Counts& counts() const { return inbox_.counts(); }
  std::uint16_t port(std::size_t rail) const { return sockets_.at(rail)->port(); }
  std::int64_t kernel_drops() const;

 private:
  void open_sockets(std::span<const measure::ConnectionId> ids);
  void introduce(std::span<const measure::ConnectionId> ids);
  bool push(std::vector<program::OpIndex>& completed);
  bool push(UdpConnection& connection, std::vector<program::OpIndex>& completed);
  std::size_t batch_of(const UdpOutgoing& message, std::size_t chunk_bytes) const;
  bool pull(bool may_wait);
  bool take(std::size_t rail, std::int64_t now);
  void rest();
  void confer(std::int64_t now);
  void sleep(std::int64_t now, bool watching_peers);
  void speak(bool in_band);
  void send_mark(const UdpConnection& connection);
  void hear();
  bool hand_out(std::vector<program::OpIndex>& completed);
  void moved();
  void tell_alive();
  UdpConnection& connection_of(program::OpIndex index) {
    return *connections_[connection_of_[static_cast<std::size_t>(index)]];
  }

  const measure::BackendContext& context_;
  std::atomic<std::uint64_t>& progress_;
  bool polling_;
  UdpSocketOptions options_;
  std::size_t asked_chunk_bytes_;
  std::vector<std::size_t> chunk_bytes_;  // [rail] size of the pieces that this rank sends
  double nanoseconds_per_byte_;           // pacing; 0: none
  Tamper tamper_;
  tcp::TcpConnections tcp_;
  UdpInbox inbox_;
  std::vector<std::unique_ptr<UdpSocket>> sockets_;          // [rail]
  std::vector<Nonce> nonces_;                                // [rail]
  std::vector<std::unique_ptr<UdpConnection>> connections_;  // [number in the inbox]
  std::map<measure::ConnectionId, std::uint32_t> numbers_;
  std::vector<UdpConnection*> sending_, speaking_, hearing_;

  std::span<const program::Op> ops_;
  std::vector<std::uint32_t> connection_of_;  // [op]
  std::vector<std::int64_t> sent_at_;         // [op]
  std::vector<program::OpIndex> executed_;
  std::vector<Datagram> datagrams_;
  std::vector<DatagramHeader> headers_;
  std::vector<pollfd> watched_;
  std::int64_t moved_at_ = 0, heard_at_ = 0, depart_at_ = 0;
  std::size_t turn_ = 0;  // index into sending_
  bool emptied_ = false;  // all sockets were empty at the last look
  bool blocked_ = false;  // the kernel takes no datagrams at present
};

}  // namespace crosscut::backends::udp
