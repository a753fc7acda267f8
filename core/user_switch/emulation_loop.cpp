// The emulation's main loop: when the switch looks for work and when it sleeps. Also replaces cable faults
// and sets carriers.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "user_switch/emulation.hpp"

namespace crosscut::user_switch {
namespace {

void sleep_until(std::int64_t at) {
  const timespec when{.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

}  // namespace

void Emulation::run(double seconds) {
  began_ = monotonic_nanoseconds();
  processor_at_start_ = processor_nanoseconds(Processor::process);
  const auto end = seconds > 0 ? nanoseconds(seconds) : std::int64_t{1} << 62;
  auto& model = wiring_.model();
  for (auto last_look = now(); !ended_ && last_look < end;) {
    if (last_look + began_ >= next_carrier_) show_carriers();
    read_frames();
    model.advance(now() * per_nanosecond);
    deliver();
    rest(last_look);
    const auto looked = now();
    pauses_.add(looked - last_look);
    last_look = looked;
  }
}

// A look costs the same however much it finds: the more frames are in flight, the longer the pause before the
// next. While few are, somebody may be measuring or waiting for one of them: wake up for each, and busy-wait
// during the last part of each wait.
void Emulation::rest(std::int64_t last_look) {
  constexpr std::int64_t few = 16, many = 64;  // frames
  const auto quantum = nanoseconds(pace_.quantum_seconds), spin = nanoseconds(pace_.spin_seconds);
  const auto under_way = wiring_.model().frames_inside() + outbox_.frames_waiting();
  const auto pause = std::max(quantum, std::min(under_way, many) * longest_pause_ / many);
  const auto here = now();
  auto wake = std::max(next_needed(here), last_look + pause);
  if (under_way > few) {
    wake = std::min(wake, last_look + 2 * pause);  // not woken by frames that arrive meanwhile
    if (wake - here > spin) sleep_until(wake + began_);
    wake = 0;
  } else if (wake - here <= spin) {
    while (now() < wake) {
    }
    wake = 0;
  } else {
    wake -= spin;  // in a virtual machine, a timer is about that late
  }
  look(wake);
}

// Returns when something is due, or when the queue of a waiting host is half empty.
std::int64_t Emulation::next_needed(std::int64_t here) const {
  const auto& model = wiring_.model();
  const auto due = std::min(outbox_.next_due(), model.nothing_due_before());
  auto wake = due == never ? here + nanoseconds(0.1) : (due + per_nanosecond - 1) / per_nanosecond;
  wake = std::min(wake, next_carrier_ - began_);
  if (pool_.is_full()) return wake;  // nothing is read before a frame has gone
  for (const auto& tap : taps_) {
    if (!tap.is_ready) continue;
    if (may_read(tap)) return here;
    const auto over =
        static_cast<double>(model.waiting_bytes(tap.link)) - static_cast<double>(tap.ahead_bytes) / 2;
    wake = std::min(wake, here + nanoseconds(over / tap.bytes_per_second));
  }
  return wake;
}

// Handles pending events. If there are none, waits for one until `wait_until` (0: does not wait).
void Emulation::look(std::int64_t wait_until) {
  // Setting the timer at every wait takes a fifth of a virtual machine's time. Waking up too early costs
  // less, so a timer that is already due earlier stays.
  if (wait_until > 0 && (armed_ <= now() || armed_ > wait_until)) {
    const auto at = wait_until + began_;
    itimerspec when{};
    when.it_value.tv_sec = at / 1'000'000'000;
    when.it_value.tv_nsec = at % 1'000'000'000;
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
    armed_ = wait_until;
  }
  std::array<epoll_event, 128> events{};
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_until > 0 ? -1 : 0);
  for (int i = 0; i < count; ++i) {
    const auto id = events[static_cast<std::size_t>(i)].data.u64;
    if (id < taps_.size()) {
      taps_[id].is_ready = true;
    } else if (id == id_signals) {
      handle_signal();
    } else if (id == id_input) {
      std::array<char, 256> ignored{};
      if (::read(input_, ignored.data(), ignored.size()) <= 0) ended_ = true;
    }
  }
}

void Emulation::handle_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return;
  if (info.ssi_signo == SIGUSR2) {
    reread_faults();
    return;
  }
  if (info.ssi_signo != SIGUSR1) {
    ended_ = true;
    return;
  }
  say(statistics());
  lateness_lately_ = {};
}

void Emulation::set_fault_source(FaultSource read) {
  fault_source_ = std::move(read);
  take_faults(fault_source_());
}

// Replaces the faults. An outage that stays the same keeps its beginning.
void Emulation::take_faults(std::span<const CableFault> faults) {
  wiring_.set_faults(faults);
  const auto here = monotonic_nanoseconds();
  for (auto& tap : taps_) {
    Outage outage;
    for (const auto& fault : faults)
      if (fault.port == tap.entry.port) outage = fault.outage;
    if (outage == tap.outage) continue;
    tap.outage = outage;
    tap.outage_began = here;
  }
  show_carriers();
}

void Emulation::reread_faults() {
  json::Object said{{"event", "faults"}};
  try {
    if (!fault_source_)
      throw UsageError("started without --faults FILE, so there is no file to read faults from");
    const auto faults = fault_source_();
    take_faults(faults);
    said.emplace_back("cables", static_cast<std::int64_t>(faults.size()));
  } catch (const std::exception& error) {  // others write the file; its errors must not end the network
    said.emplace_back("refused", error.what());
  }
  say(std::move(said));
}

bool Emulation::is_out(const Tap& tap) const {
  return tap.outage.is_now(monotonic_nanoseconds() - tap.outage_began);
}

void Emulation::show_carriers() {
  next_carrier_ = never_nanoseconds;
  const auto here = monotonic_nanoseconds();
  for (auto& tap : taps_) {
    if (!tap.outage.shows && tap.has_carrier) continue;
    const auto since = here - tap.outage_began;
    const bool wanted = !tap.outage.shows || !tap.outage.is_now(since);
    if (wanted != tap.has_carrier) set_carrier(tap.fd, tap.entry, wanted);
    tap.has_carrier = wanted;
    const auto every = tap.outage.every;
    if (every == 0) continue;
    const auto round = since - since % every;
    next_carrier_ = std::min(next_carrier_, tap.outage_began + round + (wanted ? every : tap.outage.lasts));
  }
}

}  // namespace crosscut::user_switch
