// The running switch: moves frames from TAP devices through the model and out again, each when it is due.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/fd.hpp"
#include "base/json.hpp"
#include "user_switch/frame_pool.hpp"
#include "user_switch/host_queues.hpp"
#include "user_switch/outbox.hpp"
#include "user_switch/spread_counter.hpp"
#include "user_switch/tap_device.hpp"
#include "user_switch/wiring.hpp"

namespace crosscut::user_switch {

struct Pace {
  double spin_seconds = 15e-6;     // busy-waiting at the end of each wait, while few frames are in flight
  double quantum_seconds = 20e-6;  // shortest time between two looks; longer under load
  bool realtime = true;            // real-time priority, above the hosts' processes
  int bundle_frames = 0;           // frames that hosts send or receive in one piece; 0: by the link's rate
};

inline constexpr std::int64_t per_nanosecond = 1000;  // instants
inline std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// Prints a line on stdout and flushes it.
void say(const json::Value& value);

class Emulation {
 public:
  // The emulation ends when `input` closes; -1: there is no input.
  Emulation(Wiring& wiring, std::vector<TapEntry> taps, const TapSettings& settings, const Pace& pace,
            int input);

  // The source is read now and at each SIGUSR2, which also reports the result on stdout.
  using FaultSource = std::function<std::vector<CableFault>()>;
  void set_fault_source(FaultSource read);

  // Runs until SIGTERM, SIGINT, SIGHUP, the end of `input` or `seconds` (0: no limit). SIGUSR1: statistics.
  void run(double seconds);
  json::Value statistics() const;
  bool is_realtime() const { return is_realtime_; }
  std::size_t taps() const { return taps_.size(); }

 private:
  struct Tap {
    TapEntry entry;
    Fd fd;
    double bytes_per_second = 0;  // of its link
    std::int64_t ahead_bytes = 0;
    Instant hold = 0;     // how long frames for this TAP may wait for those right behind
    StationId link = -1;  // known once it has sent
    HostQueues queues{};
    bool is_ready = false;
    std::int64_t read = 0, delivered = 0;
    Outage outage{};
    std::int64_t outage_began = 0;  // by the machine's clock
    bool has_carrier = true;
  };
  struct MacHash {
    std::size_t operator()(const Mac& mac) const;
  };
  // What happened to a frame that was read.
  enum class Fate : std::uint8_t { sent, answered, group, unknown, malformed, no_way, to_itself, lost };
  static constexpr std::size_t fates = 8;
  static constexpr std::int64_t never_nanoseconds = std::int64_t{1} << 62;

  // In epoll's data, where other values are indices of TAPs.
  static constexpr std::uint64_t id_timer = ~0ull, id_signals = ~1ull, id_input = ~2ull;

  std::int64_t now() const;  // nanoseconds since run() began
  int bundle_frames(Port port, const TapSettings& settings) const;
  // Time of the longest frame on that link.
  double frame_seconds(Port port, const TapSettings& settings) const;
  void add_tap(TapEntry entry, const TapSettings& settings);
  void look(std::int64_t wait_until);
  void handle_signal();
  void read_frames();
  bool may_read(const Tap& tap) const;
  bool read_frame(Tap& tap);
  Fate classify(Tap& tap, BundleId id);
  Fate send(Tap& from, BundleId id, const Tap& to);
  Fate answer(Tap& from, std::span<const std::byte> frame);
  void deliver();
  void hand_over(const Parcel& parcel);
  void put(Tap& tap, std::span<const std::byte> header, std::span<const std::byte> payload);
  void rest(std::int64_t last_look);
  std::int64_t next_needed(std::int64_t here) const;

  void take_faults(std::span<const CableFault> faults);
  void reread_faults();
  bool is_out(const Tap& tap) const;  // frames are being lost, in the directions of its outage
  void show_carriers();

  Wiring& wiring_;
  Pace pace_;
  std::vector<Tap> taps_;
  std::unordered_map<Mac, std::size_t, MacHash> by_mac_;
  std::map<Ipv4, Mac> by_address_;
  FramePool pool_;
  Outbox outbox_;
  Fd epoll_, timer_, signals_;
  int input_ = -1;
  bool ended_ = false, is_realtime_ = false;
  std::int64_t longest_pause_ = 0;                            // nanoseconds
  std::int64_t began_ = 0, armed_ = 0;                        // armed_: when the timer expires or expired
  SpreadCounter lateness_, lateness_lately_, held_, pauses_;  // lately: since the last request
  std::int64_t count_[fates] = {};
  std::int64_t not_taken_ = 0, pieces_read_ = 0, pieces_written_ = 0;
  std::int64_t processor_at_start_ = 0;  // nanoseconds
  FaultSource fault_source_;
  std::int64_t next_carrier_ = never_nanoseconds;  // machine's clock: next carrier change
};

}  // namespace crosscut::user_switch
