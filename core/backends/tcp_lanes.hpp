// The TCP connections of a rank: one for each peer, channel and rail, both directions on the same one.
#pragma once

#include <map>
#include <mutex>

#include "measure/transport.hpp"
#include "session/attendant.hpp"

namespace crosscut::backends {

struct TcpOptions {
  std::int64_t send_buffer_bytes = 0;     // 0: the kernel tunes it
  std::int64_t receive_buffer_bytes = 0;  // 0: the kernel tunes it
  std::string congestion_control;         // empty: the system's
  bool no_delay = true;
};

// An operation under way on a connection.
struct Transfer {
  program::OpIndex index = 0;
  std::byte* data = nullptr;
  std::size_t left = 0;
};

// A queue that never gives its memory back while it is used.
class TransferQueue {
 public:
  bool empty() const { return head_ == transfers_.size(); }
  Transfer& front() { return transfers_[head_]; }
  void push(const Transfer& transfer) { transfers_.push_back(transfer); }
  void pop() {
    if (++head_ == transfers_.size()) clear();
  }
  void clear() {
    transfers_.clear();
    head_ = 0;
  }

 private:
  std::vector<Transfer> transfers_;
  std::size_t head_ = 0;
};

struct Lane {
  measure::Link link;
  Fd fd;
  TransferQueue sends, receives;
  bool active = false;  // in the list of lanes with something under way
};

class TcpLanes {
 public:
  // Throws UsageError for options that this kernel refuses, before anything is measured or made on disk.
  TcpLanes(const measure::BackendContext& context, TcpOptions options);
  // Opens what is missing. When all lanes ever asked for might exceed the descriptor limit, those not asked
  // for are closed first; both ends decide alike, since both know the job.
  void open(std::span<const measure::Link> links, std::uint32_t epoch);
  Lane& at(const program::Op& op) {
    const measure::Link link{op.peer, op.channel, op.rail};
    if (last_ != nullptr && last_->link == link) return *last_;
    return *(last_ = lanes_.at(link).get());
  }
  void close_all();
  void shut_all();  // from any thread
  json::Value facts() const;

 private:
  Fd connect(const measure::Link& link, std::uint32_t epoch) const;
  void configure(int fd) const;
  bool fits(std::size_t count) const;

  const measure::BackendContext& context_;
  TcpOptions options_;
  mutable std::mutex closing_;  // guards the map against shut_all() from another thread
  std::map<measure::Link, std::unique_ptr<Lane>> lanes_;
  Lane* last_ = nullptr;
};

}  // namespace crosscut::backends
