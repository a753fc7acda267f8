#include "emulation.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "clock.hpp"
#include "error.hpp"

namespace crosscut::frames {
namespace {

constexpr std::int64_t per_nanosecond = 1000;  // instants
constexpr double nanoseconds_per_second = 1e9;
// Among the numbers of the TAPs, in epoll's data.
constexpr std::uint64_t id_timer = ~0ull, id_signals = ~1ull, id_input = ~2ull;
constexpr std::size_t pool_bytes = std::size_t{512} << 20;

std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(seconds * nanoseconds_per_second);
}

bool watch(const Fd& epoll, int fd, std::uint64_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

// Blocked signals come through the descriptor.
Fd open_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaddset(&set, each);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// A network does not wait until its hosts have computed. The lowest of the real-time priorities; false: it is
// not allowed, and lateness will tell.
bool become_realtime() {
  sched_param priority{};
  priority.sched_priority = 1;
  return ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0;
}

std::size_t slot_bytes(const TapSettings& settings) {
  constexpr std::size_t vlan_tag = 4;
  return (offload_bytes + header_bytes + vlan_tag + static_cast<std::size_t>(settings.mtu) + 63) / 64 * 64;
}

}  // namespace

std::size_t Emulation::MacHash::operator()(const Mac& mac) const {
  std::uint64_t number = 0;
  std::memcpy(&number, mac.data(), mac.size());
  return static_cast<std::size_t>(number * 0x9e3779b97f4a7c15u >> 20);
}

Emulation::Emulation(Wiring& wiring, std::vector<TapEntry> taps, const TapSettings& settings,
                     const Pace& pace, int input)
    : wiring_(wiring),
      pace_(pace),
      pool_(slot_bytes(settings), pool_bytes / slot_bytes(settings)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      signals_(open_signals()),
      input_(input) {
  if (!epoll_ || !timer_ || !signals_) throw_errno("setting up epoll, a timer and signals");
  constexpr std::int64_t frames_ahead_least = 2;
  for (auto& entry : taps) {
    Tap tap{.entry = std::move(entry), .fd = {}};
    tap.fd = make_tap(tap.entry, settings);
    tap.ahead_bytes =
        std::max(static_cast<std::int64_t>(wiring.bytes_per_second(tap.entry.port) * pace.ahead_seconds),
                 frames_ahead_least * settings.mtu);
    by_mac_.emplace(tap.entry.mac, taps_.size());
    for (const auto& address : tap.entry.addresses) by_address_.emplace_back(address, tap.entry.mac);
    if (!watch(epoll_, tap.fd.get(), taps_.size(), EPOLLIN | EPOLLET))
      throw_errno("watching TAP " + tap.entry.tap);
    taps_.push_back(std::move(tap));
  }
  if (pace.realtime) is_realtime_ = become_realtime();
  std::ranges::sort(by_address_);
  if (!watch(epoll_, timer_.get(), id_timer, EPOLLIN | EPOLLET) ||
      !watch(epoll_, signals_.get(), id_signals, EPOLLIN))
    throw_errno("watching a timer and signals");
  // A file or /dev/null cannot be watched: there is no other end that could go.
  if (input_ >= 0 && !watch(epoll_, input_, id_input, EPOLLIN | EPOLLRDHUP) && errno != EPERM)
    throw_errno("watching standard input");
}

std::int64_t Emulation::now() const { return monotonic_nanoseconds() - began_; }

void Emulation::run(double seconds) {
  began_ = monotonic_nanoseconds();
  processor_at_start_ = processor_seconds();
  const auto end = seconds > 0 ? nanoseconds(seconds) : std::int64_t{1} << 62;
  auto& model = wiring_.model();
  for (auto last_look = now(); !ended_ && last_look < end;) {
    read_frames();
    model.advance(now() * per_nanosecond);
    deliver();
    sleep_or_spin(last_look);
    const auto looked = now();
    pauses_.add(looked - last_look);
    last_look = looked;
  }
}

// Sleeps until something is due or comes, but looks at the world no more often than once a quantum.
void Emulation::sleep_or_spin(std::int64_t last_look) {
  const auto event = wiring_.model().next_event();
  const bool is_more =
      std::ranges::any_of(taps_, [this](const Tap& tap) { return tap.is_ready && may_read(tap); });
  const auto soonest = last_look + nanoseconds(pace_.quantum_seconds);
  const auto here = now();
  auto wake = event ? (*event + per_nanosecond - 1) / per_nanosecond : here + nanoseconds(0.1);
  if (is_more) wake = here;
  wake = std::max(wake, std::min(soonest, here + nanoseconds(pace_.quantum_seconds)));
  if (wake - here <= nanoseconds(pace_.spin_seconds)) {
    while (now() < wake) {
    }
    wake = 0;
  } else {
    wake -= nanoseconds(pace_.spin_seconds);  // a timer is late by about as much in a virtual machine
  }
  look(wake);
}

// 0: at once.
void Emulation::look(std::int64_t wait_until) {
  // Setting a timer costs a virtual machine a fifth of its time; one that wakes too early costs less.
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
  if (info.ssi_signo != SIGUSR1) {
    ended_ = true;
    return;
  }
  const auto line = json::write(statistics()) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
  lateness_lately_ = {};
}

// What a host has sent waits in its own queue until its link is nearly free: there, as in a real host, it is
// not lost.
bool Emulation::may_read(const Tap& tap) const {
  if (tap.waits_in >= 0 && wiring_.model().queued_bytes(tap.waits_in) >= tap.ahead_bytes) return false;
  return !pool_.is_full();
}

void Emulation::read_frames() {
  constexpr int in_turn = 32;  // so that no host keeps others waiting
  for (auto& tap : taps_)
    for (int i = 0; i < in_turn && tap.is_ready && may_read(tap); ++i) tap.is_ready = read_frame(tap);
}

bool Emulation::read_frame(Tap& tap) {
  const auto slot = pool_.take();
  const auto room = pool_.room(slot);
  const auto got = ::read(tap.fd.get(), room.data(), room.size());
  if (got < 0) {
    pool_.give_back(slot);
    return errno == EINTR;
  }
  ++tap.read;
  pool_[slot].used = static_cast<std::uint32_t>(got);
  classify(tap, slot);
  return true;
}

void Emulation::classify(Tap& tap, Handle slot) {
  const auto offloaded = pool_.frame(slot);
  const auto frame = offloaded.subspan(std::min(offload_bytes, offloaded.size()));
  const auto addressed = read_addresses(frame);
  Fate fate = Fate::sent;
  if (!addressed) {
    fate = Fate::too_short;
  } else if (addressed->is_group) {
    fate = answer(tap, frame) ? Fate::answered : Fate::group;
  } else if (const auto found = by_mac_.find(addressed->to); found == by_mac_.end()) {
    fate = Fate::unknown;
  } else if (const auto& to = taps_[found->second]; to.entry.port.host == tap.entry.port.host) {
    fate = Fate::to_itself;
  } else {
    pool_[slot].destination = static_cast<std::uint32_t>(found->second);
    fate = send(tap, slot, to.entry.port, frame);
  }
  ++count_[static_cast<std::size_t>(fate)];
  if (fate != Fate::sent) pool_.give_back(slot);
}

Emulation::Fate Emulation::send(Tap& from, Handle slot, Port to, std::span<const std::byte> frame) {
  auto& model = wiring_.model();
  WayId way = 0;
  try {
    way = wiring_.way(from.entry.port, to, flow_of(frame));
  } catch (const UsageError&) {  // the network leads no way from the one to the other
    return Fate::no_way;
  }
  const auto at = now() * per_nanosecond;
  model.advance(at);
  from.waits_in = model.first_queue(way);
  model.offer(at, slot, static_cast<std::int64_t>(frame.size()), way);
  return Fate::sent;
}

// Of a network that knows its addresses, at once and without load on its links.
bool Emulation::answer(Tap& from, std::span<const std::byte> frame) {
  const auto asked = asked_for(frame);
  if (!asked) return false;
  const auto found = std::ranges::lower_bound(by_address_, *asked, {}, &std::pair<Ipv4, Mac>::first);
  if (found == by_address_.end() || found->first != *asked || found->second == from.entry.mac) return false;
  auto reply = arp_answer(frame, found->second);
  reply.insert(reply.begin(), offload_bytes, std::byte{0});
  put(from, reply);
  return true;
}

void Emulation::deliver() {
  auto& model = wiring_.model();
  for (const auto& drop : model.dropped()) pool_.give_back(drop.handle);
  model.dropped().clear();
  for (const auto& delivery : model.delivered()) {
    const auto late = now() - delivery.due / per_nanosecond;
    lateness_.add(late);
    lateness_lately_.add(late);
    auto& tap = taps_[pool_[delivery.handle].destination];
    ++tap.delivered;
    put(tap, pool_.frame(delivery.handle));
    pool_.give_back(delivery.handle);
  }
  model.delivered().clear();
}

void Emulation::put(Tap& tap, std::span<const std::byte> offloaded_frame) {
  // What a host does not take (its interface is down, it is out of memory) is its own loss, as with a real
  // one.
  if (::write(tap.fd.get(), offloaded_frame.data(), offloaded_frame.size()) < 0) ++not_taken_;
}

}  // namespace crosscut::frames
