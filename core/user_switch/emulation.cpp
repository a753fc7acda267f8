#include "user_switch/emulation.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace crosscut::user_switch {
namespace {

constexpr std::size_t pool_bytes = std::size_t{512} << 20;

bool watch(const Fd& epoll, int fd, std::uint64_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

// Blocks the signals and returns the descriptor that delivers them.
Fd open_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&set, each);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// A real network does not wait for its hosts' computing, so take the lowest real-time priority. Returns false
// if that is not allowed; lateness then shows up in the statistics.
bool become_realtime() {
  sched_param priority{};
  priority.sched_priority = 1;
  return ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0;
}

std::size_t slot_bytes(const TapSettings& settings, int frames) {
  // Most bytes that Linux passes to an adapter at once by default (ip-link(8): gso_max_size).
  constexpr int most_in_one = 65'536;
  const auto payload = std::max(settings.mtu, std::min(settings.mtu * frames, most_in_one));
  return (Run::header_bytes_max + static_cast<std::size_t>(payload) + 63) / 64 * 64;
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
      pool_(0, 0),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      signals_(open_signals()),
      input_(input) {
  if (!epoll_ || !timer_ || !signals_) throw_errno("set up epoll, a timer and signals");
  int most_frames = 1;
  double slowest_frame = 0;
  for (auto& entry : taps) {
    most_frames = std::max(most_frames, bundle_frames(entry.port, settings));
    slowest_frame = std::max(slowest_frame, frame_seconds(entry.port, settings));
    add_tap(std::move(entry), settings);
  }
  constexpr double least_seconds = 100e-6, share_of_frame = 0.25;
  longest_pause_ = nanoseconds(std::max(least_seconds, share_of_frame * slowest_frame));
  const auto slot = slot_bytes(settings, most_frames);
  pool_ = FramePool(slot, pool_bytes / slot);
  if (pace.realtime) is_realtime_ = become_realtime();
  if (!watch(epoll_, timer_.get(), id_timer, EPOLLIN | EPOLLET) ||
      !watch(epoll_, signals_.get(), id_signals, EPOLLIN))
    throw_errno("watch a timer and signals");
  // A file or /dev/null cannot be watched (EPERM), and has no other end that could close.
  if (input_ >= 0 && !watch(epoll_, input_, id_input, EPOLLIN | EPOLLRDHUP) && errno != EPERM)
    throw_errno("watch standard input");
}

void Emulation::add_tap(TapEntry entry, const TapSettings& settings) {
  const int frames = bundle_frames(entry.port, settings);
  Tap tap{.entry = std::move(entry), .fd = {}};
  tap.bytes_per_second = wiring_.bytes_per_second(tap.entry.port);
  tap.ahead_bytes = std::int64_t{settings.queue_frames} * settings.mtu;
  // The time that its frames take if no others come between them.
  tap.hold = instant_of(frames * frame_seconds(tap.entry.port, settings));
  tap.fd = make_tap(tap.entry, settings, frames);
  by_mac_.emplace(tap.entry.mac, taps_.size());
  for (const auto& address : tap.entry.addresses) by_address_.emplace(address, tap.entry.mac);
  if (!watch(epoll_, tap.fd.get(), taps_.size(), EPOLLIN | EPOLLET))
    throw_errno("watch TAP " + tap.entry.tap);
  taps_.push_back(std::move(tap));
}

double Emulation::frame_seconds(Port port, const TapSettings& settings) const {
  return wiring_.full_frame_bytes(settings.mtu) / wiring_.bytes_per_second(port);
}

// Returns the frames that a link carries in a millisecond, at least 4 on slow links. Linux's TCP by itself
// passes on about a millisecond's worth at once (tcp_tso_autosize()).
int Emulation::bundle_frames(Port port, const TapSettings& settings) const {
  constexpr double seconds = 1e-3;
  constexpr int least = 4, most_bytes = 60'000;
  if (settings.checksums) return 1;
  if (pace_.bundle_frames > 0) return pace_.bundle_frames;
  const auto frames = std::llround(wiring_.bytes_per_second(port) * seconds / settings.mtu);
  return static_cast<int>(
      std::clamp<std::int64_t>(frames, least, std::clamp(most_bytes / settings.mtu, 1, bundle_frames_max)));
}

std::int64_t Emulation::now() const { return monotonic_nanoseconds() - began_; }

// Bounds the host's own queue. Frames that do not fit wait in its adapter.
bool Emulation::may_read(const Tap& tap) const {
  if (tap.link >= 0 && wiring_.model().waiting_bytes(tap.link) >= tap.ahead_bytes) return false;
  return !pool_.is_full();
}

void Emulation::read_frames() {
  constexpr int in_turn = 32;  // per turn, so that no host keeps the others waiting
  for (auto& tap : taps_)
    for (int i = 0; i < in_turn && tap.is_ready && may_read(tap); ++i) tap.is_ready = read_frame(tap);
}

bool Emulation::read_frame(Tap& tap) {
  const auto id = pool_.take();
  const auto room = pool_.room(id);
  const auto got = ::read(tap.fd.get(), room.data(), room.size());
  if (got < 0) {
    pool_.give_back(id);
    if (errno != EFAULT) return errno == EINTR;
    ++tap.read;  // longer than any frame may be: it is lost
    ++count_[static_cast<std::size_t>(Fate::malformed)];
    return true;
  }
  ++pieces_read_;
  auto& slot = pool_[id];
  slot.used = static_cast<std::uint32_t>(got);
  const auto bundle = read_bundle(pool_.read(id));
  slot.bundle = bundle.value_or(Bundle{});
  tap.read += slot.bundle.frames;
  const auto fate = bundle ? classify(tap, id) : Fate::malformed;
  count_[static_cast<std::size_t>(fate)] += slot.bundle.frames;
  if (fate != Fate::sent) pool_.give_back(id);
  return true;
}

Emulation::Fate Emulation::classify(Tap& tap, BundleId id) {
  if (tap.outage.out && is_out(tap)) return Fate::lost;
  const auto frame = pool_.read(id).subspan(offload_bytes);
  const auto receiver = receiver_of(frame);
  if (!receiver) return Fate::malformed;
  if (is_group(*receiver)) return answer(tap, frame);
  const auto found = by_mac_.find(*receiver);
  if (found == by_mac_.end()) return Fate::unknown;
  const auto& to = taps_[found->second];
  if (to.entry.port.host == tap.entry.port.host) return Fate::to_itself;
  pool_[id].destination = static_cast<std::uint32_t>(found->second);
  return send(tap, id, to);
}

Emulation::Fate Emulation::send(Tap& from, BundleId id, const Tap& to) {
  auto& model = wiring_.model();
  const auto flow = flow_of(pool_.read(id).subspan(offload_bytes));
  PathId way = 0;
  try {
    way = wiring_.way(from.entry.port, to.entry.port, flow);
  } catch (const UsageError&) {  // no path leads from one to the other
    return Fate::no_way;
  }
  const auto at = now() * per_nanosecond;
  model.advance(at);
  from.link = model.first_station(way);
  const auto& bundle = pool_[id].bundle;
  outbox_.expect(id, bundle.frames, to.hold);
  const auto queue = from.queues.of(flow, model);
  for (int i = 0; i < bundle.frames; ++i)
    model.offer(at, handle_of(id, i), bundle.frame_bytes(i), way, queue);
  return Fate::sent;
}

// Answers an ARP request at once and without loading a link, since the switch knows the hosts' addresses.
Emulation::Fate Emulation::answer(Tap& from, std::span<const std::byte> frame) {
  const auto asked = asked_for(frame);
  if (!asked) return Fate::group;
  const auto found = by_address_.find(*asked);
  if (found == by_address_.end() || found->second == from.entry.mac) return Fate::group;
  if (from.outage.in && is_out(from)) return Fate::lost;
  auto reply = arp_answer(frame, found->second);
  reply.insert(reply.begin(), offload_bytes, std::byte{0});
  put(from, reply, {});
  return Fate::answered;
}

void Emulation::deliver() {
  auto& model = wiring_.model();
  for (const auto handle : model.dropped()) {
    const auto id = bundle_of(handle);
    outbox_.lost(id);
    if (outbox_.is_done(id)) pool_.give_back(id);
  }
  model.dropped().clear();
  for (const auto& delivery : model.delivered())
    outbox_.add(bundle_of(delivery.handle), number_of(delivery.handle), delivery.due);
  model.delivered().clear();
  for (Parcel parcel; outbox_.take(now() * per_nanosecond, parcel);) {
    hand_over(parcel);
    if (outbox_.is_done(parcel.bundle)) pool_.give_back(parcel.bundle);
  }
}

void Emulation::hand_over(const Parcel& parcel) {
  const auto late = now() - parcel.when / per_nanosecond;
  lateness_.add(late, parcel.count);
  lateness_lately_.add(late, parcel.count);
  held_.add((parcel.when - parcel.first_due) / per_nanosecond);
  const auto& slot = pool_[parcel.bundle];
  auto& tap = taps_[slot.destination];
  if (tap.outage.in && is_out(tap)) {
    count_[static_cast<std::size_t>(Fate::lost)] += parcel.count;
    return;
  }
  tap.delivered += parcel.count;
  const auto read = pool_.read(parcel.bundle);
  if (parcel.count == slot.bundle.frames) {
    put(tap, read, {});
    return;
  }
  const auto run = run_of(slot.bundle, read, parcel.first, parcel.count);
  put(tap, std::span(run.header).first(run.header_bytes), run.payload);
}

void Emulation::put(Tap& tap, std::span<const std::byte> header, std::span<const std::byte> payload) {
  // writev(2) only reads from its buffers.
  const auto part = [](std::span<const std::byte> bytes) {
    return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()};
  };
  const std::array<iovec, 2> parts{part(header), part(payload)};
  ++pieces_written_;
  // As on a real network, a frame that a host does not accept (interface down, no memory) is lost.
  if (::writev(tap.fd.get(), parts.data(), payload.empty() ? 1 : 2) < 0) ++not_taken_;
}

}  // namespace crosscut::user_switch
