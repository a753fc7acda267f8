// The conductor's ears and mouth: one proven connection to every rank. Notices who is dead and who is silent.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "session/handshake.hpp"
#include "session/wire.hpp"

namespace crosscut::session {

class ControlServer {
 public:
  ControlServer(const Address& interface, std::string secret, Rank ranks, double timeout_seconds);
  Address address() const { return acceptor_.address(); }

  // Until every rank has connected and said its first frame (joined). Throws RunError naming the missing
  // ones. `idle` is called now and then; it may throw to give up.
  std::vector<Frame> await_all(double patience_seconds, const std::function<void()>& idle);

  void send(Rank rank, FrameType type, std::span<const std::byte> payload);
  void broadcast(FrameType type, std::span<const std::byte> payload);

  struct Heard {
    enum class What { frame, lost, input, nothing, stalled } what = What::nothing;
    Rank rank = -1;
    Frame frame;         // frame
    std::string reason;  // lost
    int fd = -1;         // input: a watched descriptor is readable
  };
  // Waits at most so long for the next thing. While `expecting` something, ranks are asked now and then
  // whether they are still there (a few bytes each, every half of the timeout).
  Heard hear(double seconds, bool expecting);
  void watch(int fd);  // also listen to this descriptor
  void unwatch(int fd);

  bool living(Rank rank) const { return members_[static_cast<std::size_t>(rank)].alive; }
  std::vector<Rank> all_living() const;
  void drop(Rank rank);  // no longer a member
  Rank ranks() const { return static_cast<Rank>(members_.size()); }

 private:
  struct Member {
    Fd fd;
    bool alive = false, answered = true;
    std::uint64_t progress = 0;
  };
  void lose(Rank rank, const std::string& reason);
  void read_from(Rank rank);
  void ask_all();

  double timeout_seconds_;
  Acceptor acceptor_;
  Fd epoll_;
  std::vector<Member> members_;
  std::deque<Heard> heard_;
  Deadline next_question_{};
  std::vector<std::uint64_t> progress_before_;
  int rounds_without_progress_ = 0;
};

}  // namespace crosscut::session
