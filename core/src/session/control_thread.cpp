#include "session/control_thread.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace crosscut::session {
namespace {

constexpr double writing_patience_seconds = 60;
// Time for the measuring thread to notice that the session is over; it may hang inside a library.
constexpr int last_grace_milliseconds = 3000;

void raise(const Fd& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event.get(), &one, sizeof one);
}

void lower(const Fd& event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(event.get(), &count, sizeof count);
}

}  // namespace

ControlThread::ControlThread(Fd control, std::vector<Acceptor> acceptors, double silence_seconds)
    : control_(std::move(control)),
      acceptors_(std::move(acceptors)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      delivered_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      silence_seconds_(silence_seconds) {
  if (!wake_ || !delivered_) throw_errno("create an eventfd");
  thread_ = std::thread([this] { attend(); });
}

ControlThread::~ControlThread() {
  ending_ = true;
  wake();
  thread_.join();
}

void ControlThread::wake() const { raise(wake_); }

std::optional<Frame> ControlThread::next_or(int also) {
  while (true) {
    std::array<pollfd, 2> watched{{{delivered_.get(), POLLIN, 0}, {also, POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), -1);
    const std::lock_guard lock(mutex_);
    if (!frames_.empty()) {
      Frame frame = std::move(frames_.front());
      frames_.pop_front();
      if (frames_.empty() && !conductor_gone_) lower(delivered_);
      return frame;
    }
    if (conductor_gone_) throw ConductorGone(*conductor_gone_);
    if (watched[1].revents != 0) return std::nullopt;
  }
}

void ControlThread::measuring() {
  if (!is_measuring_.exchange(true)) wake();
}

void ControlThread::send(FrameType type, std::span<const std::byte> payload) {
  const std::lock_guard lock(sending_);
  send_frame(control_.get(), type, payload, after_seconds(writing_patience_seconds));
}

Fd ControlThread::accepted(const Hello& wanted, Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto found = std::ranges::find(connections_, wanted, &Acceptor::Accepted::hello);
    if (found != connections_.end()) {
      Fd fd = std::move(found->fd);
      connections_.erase(found);
      return fd;
    }
    if (interrupted()) throw ConnectionLost("interrupted while awaiting rank " + std::to_string(wanted.rank));
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) {
      throw ConnectionLost("rank " + std::to_string(wanted.rank) +
                           " did not connect in time; give it longer with --timeout");
    }
  }
}

void ControlThread::listen(bool on) {
  if (listening_.exchange(on) != on) wake();
}

void ControlThread::on_interrupt(std::function<void()> interrupt) {
  const std::lock_guard lock(mutex_);
  interrupt_ = std::move(interrupt);
}

void ControlThread::clear_interrupt(std::uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
  std::erase_if(connections_, [&](const auto& c) { return c.hello.epoch < epoch; });
}

void ControlThread::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (interrupt_) interrupt_();
  changed_.notify_all();
}

bool ControlThread::receive_from_conductor() {
  Frame frame;
  try {
    frame = receive_frame(control_.get(), after_seconds(writing_patience_seconds));
    last_heard_ = std::chrono::steady_clock::now();
    if (frame.type == FrameType::ping) {
      const auto now = progress_.load(std::memory_order_relaxed);
      send(FrameType::pong, Writer().add(now).bytes());
      return true;
    }
    is_measuring_ = frame.type == FrameType::run;
  } catch (const std::exception&) {
    conductor_is_gone("the conductor (rank 0) is gone");
    return false;
  }
  // Interrupt first, then deliver the frame. The interrupt makes the operation in progress fail, so that the
  // measuring thread returns to read the frame; only then may it clear the interrupt.
  const bool last = frame.type == FrameType::end;
  if (last || frame.type == FrameType::abort_block) interrupt();
  {
    const std::lock_guard lock(mutex_);
    frames_.push_back(std::move(frame));
    raise(delivered_);
  }
  return !last;
}

// Ends the process because the measuring thread hangs in a library call and cannot report why the session is
// over.
void ControlThread::leave() {
  const std::lock_guard lock(mutex_);
  if (conductor_gone_) write_once(STDERR_FILENO, "crosscut-core: " + *conductor_gone_ + "\n");
  ::_exit(1);
}

void ControlThread::conductor_is_gone(std::string reason) {
  const std::lock_guard lock(mutex_);
  conductor_gone_ = std::move(reason);
  raise(delivered_);
}

std::optional<Deadline> ControlThread::end_of_silence() const {
  if (!is_measuring_ || silence_seconds_ <= 0) return std::nullopt;
  return last_heard_ +
         std::chrono::duration_cast<Deadline::duration>(std::chrono::duration<double>(silence_seconds_));
}

void ControlThread::attend() {
  bool over = false;
  while (!ending_) {
    const bool listening = listening_ && !over;
    std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}, {over ? -1 : control_.get(), POLLIN, 0}};
    bool strangers = false;
    if (listening) {
      for (const auto& acceptor : acceptors_) {
        watched.push_back({acceptor.poll_fd(), POLLIN, 0});
        strangers = strangers || acceptor.has_pending();
      }
    }
    const auto silence = over ? std::nullopt : end_of_silence();
    const int patience = silence ? milliseconds_left(*silence) + 1 : -1;
    const int limit = over ? last_grace_milliseconds : strangers ? 1000 : patience;
    const int ready = ::poll(watched.data(), watched.size(), limit);
    if (ready == 0 && over && !ending_) leave();
    if (watched[0].revents != 0) lower(wake_);
    const bool silent = ready == 0 && silence && milliseconds_left(*silence) == 0;
    if (silent)
      conductor_is_gone("the conductor (rank 0) has been silent for " +
                        std::to_string(std::lround(silence_seconds_)) + " s");
    if (silent || (watched[1].revents != 0 && !receive_from_conductor())) {
      over = true;
      interrupt();
    }
    if (listening) serve_listeners();
  }
}

void ControlThread::serve_listeners() {
  for (auto& acceptor : acceptors_) {
    acceptor.service([&](Acceptor::Accepted connection) {
      const std::lock_guard lock(mutex_);
      connections_.push_back(std::move(connection));
      changed_.notify_all();
    });
  }
}

}  // namespace crosscut::session
