#include "session/control_server.hpp"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/words.hpp"
#include "session/messages.hpp"

namespace crosscut::session {
namespace {

constexpr std::uint64_t watched_tag = std::uint64_t{1} << 32;
// Time limit for a frame, from its first byte to its last.
constexpr double frame_patience_seconds = 20;
// While ranks join: time, after the first loss, to learn of its cause from the launcher and of other losses.
constexpr double cause_seconds = 1.5;
constexpr int rounds_before_stalled = 4;
constexpr std::size_t most_named = 15;  // missing ranks in a message

// Descriptors of rank 0 besides those to ranks: the run's files, listeners, the session's streams.
constexpr std::uint64_t other_descriptors = 64;

void need_descriptors(Rank ranks) {
  const auto needed = static_cast<std::uint64_t>(ranks) + other_descriptors;
  const auto allowed = raise_descriptor_limit();
  if (allowed < needed)
    throw UsageError("rank 0 holds a connection to each of " + std::to_string(ranks) +
                     " ranks, but may open only " + std::to_string(allowed) +
                     " files; raise the hard limit of open files on its node (ulimit -Hn) to " +
                     std::to_string(needed));
}

void add_to(int epoll, int fd, std::uint64_t tag) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = tag}};
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0 && errno != EEXIST)
    throw_errno("watch a descriptor");
}

// Enables keep-alive, so that the kernel detects a node that lost power.
void keep_alive(int fd, double timeout_seconds) {
  const int on = 1, idle = std::max(1, static_cast<int>(timeout_seconds / 2)), count = 3, interval = 2;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
}

std::string missing_ranks(const std::vector<bool>& joined_ranks) {
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < joined_ranks.size(); ++rank)
    if (!joined_ranks[rank]) names.push_back(std::to_string(rank));
  const std::size_t more = names.size() > most_named ? names.size() - most_named : 0;
  names.resize(names.size() - more);
  return joined(names) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

}  // namespace

ControlServer::ControlServer(const Address& interface, std::string secret, Rank ranks, double timeout_seconds)
    : timeout_seconds_(timeout_seconds),
      acceptor_(interface, std::move(secret)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      members_(static_cast<std::size_t>(ranks)) {
  if (!epoll_) throw_errno("create an epoll instance");
  need_descriptors(ranks);
}

void ControlServer::admit(Acceptor::Accepted connection) {
  const auto rank = connection.hello.rank;
  if (connection.hello.purpose != Purpose::control || rank < 0 || rank >= ranks()) return;
  auto& member = members_[static_cast<std::size_t>(rank)];
  if (member.fd)
    throw RunError("rank " + std::to_string(rank) +
                   " joined twice: more processes were started than there are ranks");
  member.fd = std::move(connection.fd);
  member.alive = true;
  keep_alive(member.fd.get(), timeout_seconds_);
  add_to(epoll_.get(), member.fd.get(), static_cast<std::uint64_t>(rank));
}

std::vector<Frame> ControlServer::await_all(double patience_seconds, const std::function<void()>& idle) {
  std::vector<Frame> frames(members_.size());
  std::vector<bool> joined(members_.size());
  std::size_t missing = members_.size();
  const auto deadline = after_seconds(patience_seconds);
  std::optional<Deadline> give_up;
  std::function<void()> tell_why;
  const auto fail = [&](std::function<void()> tell) {
    if (give_up) return;  // the first cause is the one to report
    tell_why = std::move(tell);
    give_up = after_seconds(cause_seconds);
  };
  while (missing > 0 || give_up) {
    std::array<pollfd, 2> watched{{{acceptor_.poll_fd(), POLLIN, 0}, {epoll_.get(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), 200);
    idle();
    acceptor_.service([&](Acceptor::Accepted connection) { admit(std::move(connection)); });
    listen(0);
    lose_stuck();
    for (; !heard_.empty(); heard_.pop_front()) {
      auto& heard = heard_.front();
      const auto at = static_cast<std::size_t>(heard.rank);
      if (heard.what == Heard::What::frame && heard.frame.type == FrameType::refused) {
        fail([refusal = unpack<Refusal>(heard.frame.payload)] {
          if (refusal.usage) throw UsageError(refusal.message);
          throw RunError(refusal.message);
        });
      } else if (heard.what == Heard::What::frame && !joined[at]) {
        joined[at] = true;
        frames[at] = std::move(heard.frame);
        --missing;
      } else if (heard.what == Heard::What::lost) {
        fail([text = "rank " + std::to_string(heard.rank) +
                     " was lost while the ranks joined: " + heard.reason] { throw RunError(text); });
      }
    }
    if (give_up && milliseconds_left(*give_up) == 0) tell_why();
    if (missing > 0 && milliseconds_left(deadline) == 0) {
      throw RunError("only " + std::to_string(members_.size() - missing) + " of " +
                     std::to_string(members_.size()) + " ranks joined within " +
                     std::to_string(std::lround(patience_seconds)) + " s; missing: " + missing_ranks(joined));
    }
  }
  next_question_ = after_seconds(timeout_seconds_ / 2);
  return frames;
}

Carried ControlServer::carried() const {
  Carried all = closed_;
  for (const auto& member : members_) all += session::carried(member.fd.get());
  return all;
}

void ControlServer::send(Rank rank, FrameType type, std::span<const std::byte> payload) {
  auto& member = members_[static_cast<std::size_t>(rank)];
  if (!member.alive) return;
  try {
    send_frame(member.fd.get(), type, payload, after_seconds(timeout_seconds_));
  } catch (const ConnectionLost& lost) {
    lose(rank, lost.what());
  }
}

void ControlServer::broadcast(FrameType type, std::span<const std::byte> payload) {
  for (Rank rank = 0; rank < ranks(); ++rank) send(rank, type, payload);
}

void ControlServer::watch(int fd) { add_to(epoll_.get(), fd, watched_tag | static_cast<std::uint64_t>(fd)); }

void ControlServer::unwatch(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::vector<Rank> ControlServer::all_living() const {
  std::vector<Rank> list;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    if (living(rank)) list.push_back(rank);
  }
  return list;
}

void ControlServer::drop(Rank rank) {
  auto& member = members_[static_cast<std::size_t>(rank)];
  member.alive = false;
  closed_ += session::carried(member.fd.get());
  member.fd.reset();
  midway_.erase(rank);
}

void ControlServer::lose(Rank rank, const std::string& reason) {
  drop(rank);
  heard_.push_back({Heard::What::lost, rank, {}, reason, -1});
}

void ControlServer::read_from(Rank rank) {
  auto& member = members_[static_cast<std::size_t>(rank)];
  if (!member.alive) return;
  try {
    auto frame = member.reader.read(member.fd.get());
    if (!frame) {
      if (member.reader.midway() && midway_.insert(rank).second)
        member.whole_by = after_seconds(frame_patience_seconds);
      return;
    }
    midway_.erase(rank);
    if (frame->type == FrameType::pong) {
      member.answered = true;
      member.progress = Reader(frame->payload).get<std::uint64_t>();
      return;
    }
    heard_.push_back({Heard::What::frame, rank, std::move(*frame), {}, -1});
  } catch (const std::runtime_error& error) {
    lose(rank, error.what());
  }
}

void ControlServer::lose_stuck() {
  std::vector<Rank> stuck;
  for (const Rank rank : midway_) {
    if (milliseconds_left(members_[static_cast<std::size_t>(rank)].whole_by) == 0) stuck.push_back(rank);
  }
  for (const Rank rank : stuck) lose(rank, "it stopped in the middle of a message");
}

bool ControlServer::listen(int milliseconds) {
  std::array<epoll_event, 64> events;
  const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds);
  for (int i = 0; i < ready; ++i) {
    const auto tag = events[static_cast<std::size_t>(i)].data.u64;
    if ((tag & watched_tag) != 0)
      heard_.push_back({Heard::What::input, -1, {}, {}, static_cast<int>(tag & ~watched_tag)});
    else
      read_from(static_cast<Rank>(tag));
  }
  return ready > 0;
}

void ControlServer::ask_all() {
  next_question_ = after_seconds(timeout_seconds_ / 2);
  std::vector<std::uint64_t> progress;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    auto& member = members_[static_cast<std::size_t>(rank)];
    if (!member.alive) continue;
    progress.push_back(member.progress);
    if (!member.answered) {
      lose(rank, "it has been silent for " + std::to_string(std::lround(timeout_seconds_ / 2)) + " s");
      continue;
    }
    member.answered = false;
    send(rank, FrameType::ping, {});
  }
  rounds_without_progress_ = progress == progress_before_ ? rounds_without_progress_ + 1 : 0;
  progress_before_ = std::move(progress);
  if (rounds_without_progress_ >= rounds_before_stalled) {
    rounds_without_progress_ = 0;
    heard_.push_back({Heard::What::stalled, -1, {}, {}, -1});
  }
}

ControlServer::Heard ControlServer::hear(double seconds, bool expecting) {
  const auto deadline = after_seconds(seconds);
  while (heard_.empty()) {
    auto until = milliseconds_left(deadline);
    if (expecting) until = std::min(until, milliseconds_left(next_question_));
    if (!midway_.empty()) until = std::min(until, 1000);
    const bool came = listen(until);
    lose_stuck();
    if (came || !heard_.empty()) continue;
    // Ping only when nothing is left to read: it could be the answer to an earlier ping.
    if (expecting && milliseconds_left(next_question_) == 0) ask_all();
    if (heard_.empty() && milliseconds_left(deadline) == 0) return {};
  }
  auto first = std::move(heard_.front());
  heard_.pop_front();
  return first;
}

}  // namespace crosscut::session
