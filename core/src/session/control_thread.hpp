// A rank's second thread. It serves the conductor and accepts connections, so that the measuring thread need
// not. While a timed section runs, it sleeps in poll() and uses no processor time until something arrives.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "session/carried.hpp"
#include "session/handshake.hpp"
#include "session/wire.hpp"

namespace crosscut::session {

// Thrown if the conductor is gone.
class ConductorGone : public ConnectionLost {
  using ConnectionLost::ConnectionLost;
};

class ControlThread {
 public:
  // `control` is this rank's authenticated connection to the conductor; there is one acceptor per interface.
  // While a block is measured, the conductor sends frames regularly; after `silence_seconds` without one (0:
  // no limit) it is considered gone.
  ControlThread(Fd control, std::vector<Acceptor> acceptors, double silence_seconds = 0);
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  // Returns the conductor's next frame, for the measuring thread; or nullopt, if `also` is readable before
  // that. Throws ConductorGone.
  std::optional<Frame> next_or(int also);
  Frame next() { return *next_or(-1); }
  // Says that this rank measures, by an order that another rank passed on.
  void measuring();
  void send(FrameType type, std::span<const std::byte> payload);
  // Waits for the connection whose hello equals `wanted`. Throws ConnectionLost if interrupted or late.
  Fd accepted(const Hello& wanted, Deadline deadline);
  // While off, new connections wait in the kernel's queue and use no processor time.
  void listen(bool on);
  // Sets the function that the control thread calls when the conductor aborts the block, ends the session or
  // is gone. The function must make the measuring thread return from any wait.
  void on_interrupt(std::function<void()> interrupt);
  bool interrupted() const { return interrupted_.load(std::memory_order_acquire); }
  // Clears the interrupt and drops connections of epochs before `epoch`.
  void clear_interrupt(std::uint32_t epoch);
  // What the connection to the conductor has carried.
  Carried carried() const { return session::carried(control_.get()); }
  // Counter that increases whenever the measuring thread makes progress. It lets the conductor tell a slow
  // rank from a hung one.
  std::atomic<std::uint64_t>& progress() { return progress_; }

 private:
  void attend();
  bool receive_from_conductor();  // false: the conductor is gone or has ended the session
  void conductor_is_gone(std::string reason);
  [[noreturn]] void leave();
  std::optional<Deadline> end_of_silence() const;
  void serve_listeners();
  void wake() const;
  void interrupt();

  Fd control_;
  std::vector<Acceptor> acceptors_;
  Fd wake_, delivered_;  // the second is readable while frames_ has frames or the conductor is gone
  double silence_seconds_;
  Deadline last_heard_{};                  // control thread only
  std::atomic<bool> is_measuring_{false};  // from an order to measure until any other frame except a ping
  std::atomic<bool> listening_{true}, ending_{false}, interrupted_{false};
  alignas(64) std::atomic<std::uint64_t> progress_{0};
  alignas(64) std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<Frame> frames_;
  std::vector<Acceptor::Accepted> connections_;
  std::function<void()> interrupt_;
  std::optional<std::string> conductor_gone_;  // the reason
  std::mutex sending_;
  std::thread thread_;
};

}  // namespace crosscut::session
