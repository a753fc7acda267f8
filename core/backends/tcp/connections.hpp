// The TCP connections of a rank: a lane for each peer, channel and rail. A lane has one or more connections,
// which both directions use.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/parts.hpp"
#include "measure/machine.hpp"
#include "measure/transport.hpp"
#include "session/control_thread.hpp"

namespace crosscut::backends::tcp {

struct TcpOptions {
  std::int64_t send_buffer_bytes = 0;     // 0: the kernel tunes it
  std::int64_t receive_buffer_bytes = 0;  // 0: the kernel tunes it
  std::string congestion_control;         // empty: the system's
  bool no_delay = true;
  std::size_t connections = 1;  // of each lane
};

// Makes the parameter for the size of a socket's buffer.
constexpr program::Parameter buffer_parameter(std::string_view name, std::string_view help) {
  return {.name = name,
          .kind = program::Parameter::Kind::bytes,
          .unit = "bytes",
          .initial = "0",
          .help = help,
          .maximum = 1e9};
}

// Bytes still to move on a connection: an operation, or the part of one that the connection carries.
struct Transfer {
  program::OpIndex index = 0;
  std::byte* data = nullptr;
  std::size_t left = 0;
};

// A queue that keeps its memory when it runs empty.
template <class Item>
class KeptQueue {
 public:
  bool empty() const { return head_ == items_.size(); }
  Item& front() { return items_[head_]; }
  void push(const Item& item) { items_.push_back(item); }
  void pop() {
    if (++head_ < items_.size()) return;
    items_.clear();
    head_ = 0;
  }

 private:
  std::vector<Item> items_;
  std::size_t head_ = 0;
};

// Runs `action`, turning ConnectionLost into PeerLost, which names the peer and, of several rails, this
// rank's adapter.
template <class Action>
void with_peer(const measure::BackendContext& context, const measure::ConnectionId& id, Action action) {
  try {
    action();
  } catch (const session::ConnectionLost& lost) {
    const auto& own = context.interfaces;
    const auto over = own.size() > 1 ? "over " + measure::adapter_name(own[id.rail]) + ": " : std::string();
    throw measure::PeerLost(id.peer, over + lost.what());
  }
}

// The kernel's counters of a connection: segments sent, sent again, reordered and marked with congestion;
// then, in microseconds, busy, limited by the receiver's window, and by the sender's buffer.
using LaneCounts = std::array<std::uint64_t, 7>;
inline constexpr std::size_t wide_counts_from = 4;  // those before have 32 bits in the kernel

struct TcpConnection {
  Rank peer = 0;
  Fd fd;
  KeptQueue<Transfer> sends, receives;
  bool active = false;  // in the transport's list of connections with transfers
  LaneCounts told{};    // as of the last lanes()
};

struct TcpLane {
  measure::ConnectionId id;
  std::vector<TcpConnection> connections;  // never grows: the transport keeps pointers to them
  bool is_told = false;                    // reported by take_new_connections() in this job
};

class TcpConnections {
 public:
  // Throws UsageError if the kernel refuses the congestion control, before anything is measured or written.
  TcpConnections(const measure::BackendContext& context, TcpOptions options);
  // Returns true if the limit on open files leaves room for this many more lanes.
  bool has_room_for(std::size_t lanes) const;
  // Throws UsageError if these lanes, together with the open ones, exceed the limit on open files.
  void expect(std::span<const measure::ConnectionId> ids) const;
  // Opens the missing lanes; lanes opened earlier stay open until close_all(): a new connection starts
  // slowly, and a network that hashes ports may route it differently. Throws PeerLost if a peer is gone.
  void open(std::span<const measure::ConnectionId> ids, std::uint32_t epoch);
  TcpLane& at(const program::Op& op) {
    const measure::ConnectionId id{op.peer, op.channel, op.rail};
    if (last_ != nullptr && last_->id == id) return *last_;
    return *(last_ = lanes_.at(id).get());
  }
  std::size_t connections_of_lane() const { return options_.connections; }
  void begin_job();  // its blocks report all connections again, kept ones too
  std::vector<store::Connection> take_new_connections() { return std::exchange(new_, {}); }
  void close_all();
  void shut_all();  // may be called from any thread
  json::Value facts() const;
  json::Value lanes();

 private:
  Fd connect(const measure::ConnectionId& id, std::uint16_t stripe, std::uint32_t epoch) const;
  void open_lane(const measure::ConnectionId& id, std::uint32_t epoch);
  void tell(TcpLane& lane);
  void configure(int fd) const;

  const measure::BackendContext& context_;
  TcpOptions options_;
  mutable std::mutex closing_;  // guards the map against shut_all() from another thread
  std::map<measure::ConnectionId, std::unique_ptr<TcpLane>> lanes_;
  TcpLane* last_ = nullptr;
  std::vector<store::Connection> new_;
};

}  // namespace crosscut::backends::tcp
