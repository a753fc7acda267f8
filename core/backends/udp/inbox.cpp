#include "backends/udp/inbox.hpp"

#include <algorithm>
#include <cstring>

#include "backends/udp/wire.hpp"

namespace crosscut::backends::udp {
namespace {

// Charged for each early datagram in addition to its bytes, so that a flood of empty ones is bounded too.
constexpr std::int64_t bookkeeping_bytes = 96;
// Multiple of the early buffer's size beyond which datagrams are dropped. Below it, a full buffer makes the
// lane give up receives whose message is over.
constexpr std::int64_t overdraft = 2;

std::int64_t cost_of(std::size_t payload_bytes) {
  return static_cast<std::int64_t>(payload_bytes) + bookkeeping_bytes;
}

}  // namespace

std::uint32_t UdpInbox::add_lane(std::size_t chunk_bytes) {
  connections_.push_back({.chunk_bytes = chunk_bytes, .open = {}, .early = {}});
  return static_cast<std::uint32_t>(connections_.size() - 1);
}

void UdpInbox::start_phase(std::size_t ops, std::span<const Receive> receives) {
  receives_.assign(ops, {});
  std::size_t words = 0;
  for (const auto& receive : receives) {
    auto& open = at(receive.op);
    open.lane = receive.lane;
    open.bytes = static_cast<std::uint64_t>(receive.bytes);
    open.chunks = chunks_of(open.bytes, connections_[receive.lane].chunk_bytes);
    open.bits = words;
    words += static_cast<std::size_t>(open.chunks + 63) / 64;
  }
  if (arrived_.size() < words) arrived_.resize(words);
  over_.reserve(receives.size());
  completed_.reserve(receives.size());
}

void UdpInbox::post(program::OpIndex op, std::byte* data, std::int64_t now) {
  auto& receive = at(op);
  auto& connection = connections_[receive.lane];
  receive.data = data;
  receive.message = connection.posted++;
  receive.missing_bytes = receive.bytes;
  receive.missing_chunks = receive.chunks;
  receive.moved_at = 0;
  receive.over_since = never;
  std::fill_n(arrived_.begin() + static_cast<std::ptrdiff_t>(receive.bits), (receive.chunks + 63) / 64, 0);
  connection.open.push_back(op);
  if (connection.over_in_band > receive.message) {
    mark_over(op, Said::in_band, now);
  } else if (connection.over > receive.message) {
    mark_over(op, Said::out_of_band, now);
  }
  if (!connection.early.empty()) take_early(op, now);
}

bool UdpInbox::take(std::uint32_t number, std::uint64_t message, std::uint32_t chunk,
                    std::span<const std::byte> payload, std::int64_t now) {
  if (number >= connections_.size()) {
    refuse(1);
    return false;
  }
  auto& connection = connections_[number];
  if (message > connection.over_in_band) handed_over(number, message, Said::in_band, now);
  if (chunk == mark_chunk) return false;
  if (message >= connection.posted) return keep_early(connection, message, chunk, payload, now);
  for (const auto op : connection.open) {
    if (at(op).message == message) return place(op, chunk, payload, now);
  }
  ++counts_.late;
  return false;
}

bool UdpInbox::place(program::OpIndex op, std::uint32_t chunk, std::span<const std::byte> payload,
                     std::int64_t now) {
  auto& receive = at(op);
  const auto chunk_bytes = connections_[receive.lane].chunk_bytes;
  const auto offset = chunk * chunk_bytes;
  if (chunk >= receive.chunks || payload.size() != std::min(chunk_bytes, receive.bytes - offset)) {
    refuse(1);
    return false;
  }
  auto& word = arrived_[receive.bits + chunk / 64];
  const auto bit = std::uint64_t{1} << (chunk % 64);
  if ((word & bit) != 0) {
    ++counts_.late;
    return false;
  }
  word |= bit;
  if (!payload.empty()) std::memcpy(receive.data + offset, payload.data(), payload.size());
  receive.moved_at = now;
  receive.missing_bytes -= payload.size();
  if (--receive.missing_chunks == 0) {
    finish(op);
  } else if (chunk + 1 == receive.chunks) {
    mark_over(op, Said::in_band, now);
  }
  return true;
}

bool UdpInbox::keep_early(Incoming& connection, std::uint64_t message, std::uint32_t chunk,
                          std::span<const std::byte> payload, std::int64_t now) {
  const auto cost = cost_of(payload.size());
  if (early_held_ + cost > limits_.early_bytes) {
    // The sender is far ahead, so missing pieces of earlier messages are lost, not late.
    while (!connection.open.empty() && at(connection.open.front()).over_since != never)
      give_up(connection.open.front(), now);
    if (early_held_ + cost > limits_.early_bytes * overdraft) {
      ++counts_.crowded;
      return false;
    }
  }
  connection.early.push_back({message, chunk, {payload.begin(), payload.end()}});
  early_held_ += cost;
  return true;
}

void UdpInbox::take_early(program::OpIndex op, std::int64_t now) {
  std::erase_if(connections_[at(op).lane].early, [&](const Early& early) {
    if (early.message != at(op).message) return false;
    early_held_ -= cost_of(early.payload.size());
    if (at(op).missing_chunks > 0) place(op, early.chunk, early.payload, now);
    return true;
  });
}

void UdpInbox::mark_over(program::OpIndex op, Said said, std::int64_t now) {
  auto& receive = at(op);
  const auto patience = said == Said::in_band
                            ? std::min(limits_.reordering_nanoseconds, limits_.grace_nanoseconds)
                            : limits_.grace_nanoseconds;
  if (receive.over_since == never) {
    over_.push_back(op);
  } else if (patience >= receive.patience) {
    return;
  }
  receive.over_since = now;
  receive.patience = patience;
  next_deadline_ = std::min(next_deadline_, now + patience);
}

void UdpInbox::handed_over(std::uint32_t number, std::uint64_t messages, Said said, std::int64_t now) {
  auto& connection = connections_[number];
  auto& known = said == Said::in_band ? connection.over_in_band : connection.over;
  if (messages <= known) return;
  known = messages;
  for (const auto op : connection.open) {
    if (at(op).message < messages) mark_over(op, said, now);
  }
}

void UdpInbox::give_up_overdue(std::int64_t now) {
  if (now < next_deadline_) return;
  next_deadline_ = never;
  for (std::size_t i = 0; i < over_.size();) {
    const auto& receive = at(over_[i]);
    const auto deadline = std::max(receive.over_since, receive.moved_at) + receive.patience;
    if (deadline <= now) {
      give_up(over_[i], now);  // removes it from over_: the next one is at i
    } else {
      next_deadline_ = std::min(next_deadline_, deadline);
      ++i;
    }
  }
}

void UdpInbox::give_up(program::OpIndex op, std::int64_t now) {
  auto& receive = at(op);
  receive.lost_bytes += static_cast<std::int64_t>(receive.missing_bytes);
  if (receive.missing_chunks == receive.chunks) receive.moved_at = now;
  ++counts_.cut_short;
  finish(op);
}

void UdpInbox::finish(program::OpIndex op) {
  const auto& receive = at(op);
  std::erase(connections_[receive.lane].open, op);
  if (receive.over_since != never) std::erase(over_, op);
  if (over_.empty()) next_deadline_ = never;
  completed_.push_back(op);
}

void UdpInbox::clear() {
  connections_.clear();
  receives_.clear();
  over_.clear();
  completed_.clear();
  early_held_ = 0;
  next_deadline_ = never;
}

}  // namespace crosscut::backends::udp
