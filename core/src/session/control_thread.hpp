// A rank's second thread: it hears the conductor and new connections, so that the measuring thread need not
// look up. It sleeps in poll() while a timed section runs, and takes no processor time unless spoken to.
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

#include "session/handshake.hpp"
#include "session/wire.hpp"

namespace crosscut::session {

class ControlThread {
 public:
  // `control` is this rank's proven connection to the conductor; one acceptor an interface. While blocks are
  // measured the conductor speaks regularly: when it has said nothing for `silence_seconds` (0: for ever), it
  // is taken for gone.
  ControlThread(Fd control, std::vector<Acceptor> acceptors, double silence_seconds = 0);
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  // Measuring thread. The next word of the conductor; ConnectionLost when it is gone.
  Frame next();
  void send(FrameType type, std::span<const std::byte> payload);
  // Waits for the connection that introduces itself so (same purpose, rank, epoch, channel, rail).
  Fd accepted(const Hello& wanted, Deadline deadline);
  // While false, strangers wait in the kernel's queue and cost nothing.
  void listen(bool on);
  // Called from the control thread when the conductor aborts the block or is gone: must make the
  // measuring thread return from whatever it waits for.
  void on_interrupt(std::function<void()> interrupt);
  bool interrupted() const { return interrupted_.load(std::memory_order_acquire); }
  // Also forgets connections that belong to an earlier epoch.
  void clear_interrupt(std::uint32_t epoch);
  // Moves whenever the measuring thread gets on; the conductor tells waiting from hanging by it.
  std::atomic<std::uint64_t>& progress() { return progress_; }

 private:
  void attend();
  bool receive_from_conductor();  // false: gone, or has said the last word
  void conductor_is_gone(std::string reason);
  [[noreturn]] void leave();
  std::optional<Deadline> end_of_silence() const;
  void serve_listeners();
  void wake() const;
  void interrupt();

  Fd control_;
  std::vector<Acceptor> acceptors_;
  Fd wake_;
  double silence_seconds_;
  Deadline last_heard_{};      // the control thread alone, as is the next
  bool is_measuring_ = false;  // from an order to measure until another word than the next such order
  std::atomic<bool> listening_{true}, ending_{false}, interrupted_{false};
  alignas(64) std::atomic<std::uint64_t> progress_{0};
  alignas(64) std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Frame> frames_;
  std::vector<Acceptor::Accepted> connections_;
  std::function<void()> interrupt_;
  std::optional<std::string> conductor_gone_;  // why
  std::mutex sending_;
  std::thread thread_;
};

}  // namespace crosscut::session
