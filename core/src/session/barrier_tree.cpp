#include "session/barrier_tree.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/clock.hpp"

namespace crosscut::session {

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

void BarrierTree::set(Fd parent, std::vector<Fd> children) {
  const std::lock_guard lock(closing_);
  parent_ = std::move(parent);
  children_ = std::move(children);
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
  const auto never = after_seconds(1e9);
  for (const auto& child : children_) receive(child.get(), token, meanwhile);
  if (parent_) {
    send_all(parent_.get(), token, never);
    receive(parent_.get(), token, meanwhile);
  }
  for (const auto& child : children_) send_all(child.get(), token, never);
}

BarrierTree::ClockOffset BarrierTree::measure_offset() {
  constexpr int exchanges = 16;
  const auto never = after_seconds(1e9);
  ClockOffset mine;
  if (parent_) {
    for (int i = 0; i < exchanges; ++i) {
      std::array<std::byte, 1> ping;
      receive(parent_.get(), ping);
      const auto now = monotonic_nanoseconds();
      send_all(parent_.get(), std::as_bytes(std::span(&now, 1)), never);
    }
    receive(parent_.get(), std::as_writable_bytes(std::span(&mine, 1)));
  }
  for (const auto& child : children_) {
    auto shortest = std::numeric_limits<std::int64_t>::max();
    double difference = 0;
    for (int i = 0; i < exchanges; ++i) {
      const std::array<std::byte, 1> ping{};
      const auto sent = monotonic_nanoseconds();
      send_all(child.get(), ping, never);
      std::int64_t theirs = 0;
      receive(child.get(), std::as_writable_bytes(std::span(&theirs, 1)));
      const auto back = monotonic_nanoseconds();
      if (back - sent >= shortest) continue;
      shortest = back - sent;
      difference = (static_cast<double>(theirs - sent) - static_cast<double>(shortest) / 2) * 1e-9;
    }
    const ClockOffset its{mine.seconds + difference,
                          mine.uncertainty_seconds + static_cast<double>(shortest) / 2 * 1e-9};
    send_all(child.get(), std::as_bytes(std::span(&its, 1)), never);
  }
  return mine;
}

void BarrierTree::interrupt() {
  const std::lock_guard lock(closing_);
  if (parent_) ::shutdown(parent_.get(), SHUT_RDWR);
  for (const auto& child : children_) ::shutdown(child.get(), SHUT_RDWR);
}

void BarrierTree::clear() {
  const std::lock_guard lock(closing_);
  parent_.reset();
  children_.clear();
}

}  // namespace crosscut::session
