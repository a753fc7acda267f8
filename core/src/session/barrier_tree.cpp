#include "session/barrier_tree.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "measure/backend.hpp"

namespace crosscut::session {
namespace {

// A wait in the tree ends when its connection does.
Deadline never() { return after_seconds(1e9); }

}  // namespace

BarrierTree::Place BarrierTree::place(Rank self, Rank ranks, std::span<const Rank> lost) {
  std::vector<Rank> living;
  for (Rank rank = 0; rank < ranks; ++rank)
    if (!std::ranges::binary_search(lost, rank)) living.push_back(rank);
  Place place;
  const auto found = std::lower_bound(living.begin(), living.end(), self);
  const auto position = static_cast<std::size_t>(found - living.begin());
  if (position > 0) place.parent = living[(position - 1) / arity];
  for (std::size_t i = position * arity + 1; i <= position * arity + arity && i < living.size(); ++i) {
    place.children.push_back(living[i]);
  }
  return place;
}

void BarrierTree::set(Fd parent, std::vector<Fd> children, std::vector<Rank> child_ranks) {
  const std::lock_guard lock(closing_);
  closed_ = carried();
  parent_ = std::move(parent);
  children_ = std::move(children);
  child_ranks_ = std::move(child_ranks);
}

void BarrierTree::receive(int fd, std::span<std::byte> bytes, const std::function<void()>& meanwhile) const {
  while (!bytes.empty()) {
    if (meanwhile) {
      meanwhile();
      pollfd arrival{fd, POLLIN, 0};
      if (!polling_) ::poll(&arrival, 1, 1);  // other ranks may need the processor
    }
    const auto got = ::recv(fd, bytes.data(), bytes.size(), polling_ || meanwhile ? MSG_DONTWAIT : 0);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got == 0) {
      throw ConnectionLost("lost the connection to a neighbour in the barrier");
    } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
      throw ConnectionLost(std::string("lost the connection to a neighbour in the barrier: ") +
                           std::strerror(errno));
    }
  }
}

void BarrierTree::wait() { wait({}); }

void BarrierTree::wait(const std::function<void()>& meanwhile) {
  std::array<std::byte, 1> token{};
  for (const auto& child : children_) receive(child.get(), token, meanwhile);
  if (parent_) {
    send_all(parent_.get(), token, never());
    receive(parent_.get(), token, meanwhile);
  }
  for (const auto& child : children_) send_all(child.get(), token, never());
}

BarrierTree::ClockOffset BarrierTree::measure_offset() {
  constexpr int exchanges = 16;
  ClockOffset mine;
  if (parent_) {
    for (int i = 0; i < exchanges; ++i) {
      std::array<std::byte, 1> ping;
      receive(parent_.get(), ping);
      const auto now = monotonic_nanoseconds();
      send_all(parent_.get(), std::as_bytes(std::span(&now, 1)), never());
    }
    receive(parent_.get(), std::as_writable_bytes(std::span(&mine, 1)));
  }
  for (const auto& child : children_) {
    auto shortest = std::numeric_limits<std::int64_t>::max();
    double difference = 0;
    for (int i = 0; i < exchanges; ++i) {
      const std::array<std::byte, 1> ping{};
      const auto sent = monotonic_nanoseconds();
      send_all(child.get(), ping, never());
      std::int64_t theirs = 0;
      receive(child.get(), std::as_writable_bytes(std::span(&theirs, 1)));
      const auto back = monotonic_nanoseconds();
      if (back - sent >= shortest) continue;
      shortest = back - sent;
      difference = (static_cast<double>(theirs - sent) - static_cast<double>(shortest) / 2) * 1e-9;
    }
    const ClockOffset its{mine.seconds + difference,
                          mine.uncertainty_seconds + static_cast<double>(shortest) / 2 * 1e-9};
    send_all(child.get(), std::as_bytes(std::span(&its, 1)), never());
  }
  return mine;
}

Frame BarrierTree::from_above() const { return receive_frame(parent_.get(), never()); }

void BarrierTree::pass_down(const Frame& frame) const {
  for (const auto& child : children_) send_frame(child.get(), frame.type, frame.payload, never());
}

void BarrierTree::pass_up(std::vector<std::byte> own, const std::function<void(const Frame&)>& take) const {
  constexpr std::size_t enough_bytes = 1 << 20;
  Frame frame{FrameType::part, std::move(own)};
  const auto hand_over = [&] {
    parent_ ? send_frame(parent_.get(), frame.type, frame.payload, never()) : take(frame);
    frame.payload.clear();
  };
  for (std::size_t i = 0; i < children_.size(); ++i) {
    for (auto type = FrameType::part; type != FrameType::result;) {
      if (frame.payload.size() > enough_bytes) hand_over();
      const auto theirs = receive_from(i);
      frame.payload.insert(frame.payload.end(), theirs.payload.begin(), theirs.payload.end());
      type = theirs.type;
    }
  }
  frame.type = FrameType::result;
  hand_over();
}

Frame BarrierTree::receive_from(std::size_t child) const {
  try {
    return receive_frame(children_[child].get(), never());
  } catch (const ConnectionLost& lost) {
    const Rank rank = child < child_ranks_.size() ? child_ranks_[child] : -1;
    throw measure::PeerLost(rank, lost.what(), "waiting for the samples of rank " + std::to_string(rank));
  }
}

Carried BarrierTree::carried() const {
  auto all = closed_;
  all += session::carried(parent_.get());
  for (const auto& child : children_) all += session::carried(child.get());
  return all;
}

void BarrierTree::interrupt() {
  const std::lock_guard lock(closing_);
  if (parent_) ::shutdown(parent_.get(), SHUT_RDWR);
  for (const auto& child : children_) ::shutdown(child.get(), SHUT_RDWR);
}

void BarrierTree::clear() {
  const std::lock_guard lock(closing_);
  closed_ = carried();
  parent_.reset();
  children_.clear();
}

}  // namespace crosscut::session
