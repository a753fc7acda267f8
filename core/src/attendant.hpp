// A rank's second thread: it hears the conductor and new connections, so that the measuring thread need not
// look up. It sleeps in poll() while a timed section runs, and takes no processor time unless spoken to.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "handshake.hpp"
#include "wire.hpp"

namespace crosscut {

class Attendant {
 public:
  // `control` is this rank's proven connection to the conductor; one acceptor an interface.
  Attendant(Fd control, std::vector<Acceptor> acceptors);
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  // Measuring thread. The next word of the conductor; ConnectionLost when it is gone.
  Frame next();
  void send(FrameType type, std::span<const std::byte> payload);
  // Waits for the connection that introduces itself so (same purpose, rank, epoch, channel, rail).
  Fd accepted(const Hello& wanted, Deadline deadline);
  // While false, strangers wait in the kernel's queue and cost nothing.
  void listen(bool on);
  // Called from the attendant's thread when the conductor aborts the block or is gone: must make the
  // measuring thread return from whatever it waits for.
  void on_interrupt(std::function<void()> interrupt);
  bool interrupted() const { return interrupted_.load(std::memory_order_acquire); }
  // Also forgets connections that belong to an earlier epoch.
  void clear_interrupt(std::uint32_t epoch);
  // Moves whenever the measuring thread gets on; the conductor tells waiting from hanging by it.
  std::atomic<std::uint64_t>& progress() { return progress_; }

 private:
  void attend();
  bool hear_conductor();  // false: gone, or has said the last word
  void serve_listeners();
  void wake() const;
  void interrupt();

  Fd control_;
  std::vector<Acceptor> acceptors_;
  Fd wake_;
  std::atomic<bool> listening_{true}, ending_{false}, interrupted_{false};
  alignas(64) std::atomic<std::uint64_t> progress_{0};
  alignas(64) std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Frame> frames_;
  std::vector<Acceptor::Accepted> connections_;
  std::function<void()> interrupt_;
  bool conductor_gone_ = false;
  std::mutex sending_;
  std::thread thread_;
};

}  // namespace crosscut
