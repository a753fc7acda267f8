// The conductor's side of the control connections: one authenticated connection to every rank. Detects dead,
// silent and stalled ranks.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "session/carried.hpp"
#include "session/handshake.hpp"
#include "session/wire.hpp"

namespace crosscut::session {

class ControlServer {
 public:
  ControlServer(const Address& interface, std::string secret, Rank ranks, double timeout_seconds);
  Address address() const { return acceptor_.address(); }

  // Waits until every rank has connected and sent its first frame (joined); returns the frames, [rank].
  // Throws RunError naming the ranks missing after `patience_seconds`, or a rank lost before. If a rank
  // refuses to join, throws that rank's error. Calls `idle` periodically, which may throw to give up.
  std::vector<Frame> await_all(double patience_seconds, const std::function<void()>& idle);

  void send(Rank rank, FrameType type, std::span<const std::byte> payload);
  void broadcast(FrameType type, std::span<const std::byte> payload);

  // An event. `stalled`: all ranks answer, but none has made progress for several rounds of pings.
  struct Heard {
    enum class What { frame, lost, input, nothing, stalled } what = What::nothing;
    Rank rank = -1;
    Frame frame;         // frame
    std::string reason;  // lost
    int fd = -1;         // input: a watched descriptor is readable
  };
  // Waits up to `seconds` for the next event. If `expecting`, pings every rank once per half time-out.
  Heard hear(double seconds, bool expecting);
  void watch(int fd);  // also listen to this descriptor
  void unwatch(int fd);

  // What the connections with all ranks have carried, those with lost ranks too.
  Carried carried() const;
  bool living(Rank rank) const { return members_[static_cast<std::size_t>(rank)].alive; }
  std::vector<Rank> all_living() const;
  void drop(Rank rank);  // forgets a rank that is gone
  Rank ranks() const { return static_cast<Rank>(members_.size()); }

 private:
  struct Member {
    Fd fd;
    bool alive = false, answered = true;
    std::uint64_t progress = 0;
    FrameReader reader;
    Deadline whole_by{};  // deadline for the rest of a partial frame
  };
  void admit(Acceptor::Accepted connection);
  void lose(Rank rank, const std::string& reason);
  void read_from(Rank rank);
  bool listen(int milliseconds);  // true if anything arrived
  void lose_stuck();
  void ask_all();

  double timeout_seconds_;
  Acceptor acceptor_;
  Fd epoll_;
  std::vector<Member> members_;
  Carried closed_;
  std::deque<Heard> heard_;
  std::set<Rank> midway_;  // ranks from which part of a frame has arrived
  Deadline next_question_{};
  std::vector<std::uint64_t> progress_before_;
  int rounds_without_progress_ = 0;
};

}  // namespace crosscut::session
