// The switch at work: frames from TAP devices through the model and out again, each when it is due.
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
  double spin_seconds = 15e-6;     // the end of each wait is not slept away, while little is under way
  double quantum_seconds = 20e-6;  // between two looks at the world; longer with the load
  bool realtime = true;            // before all that has no such priority: the hosts
  int bundle_frames = 0;           // handed over at once, from hosts and to them; 0: by the link's rate
};

inline constexpr std::int64_t per_nanosecond = 1000;  // instants
inline std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// A line on stdout, at once.
void say(const json::Value& value);

class Emulation {
 public:
  // `input`: ends the emulation when it closes; -1: none.
  Emulation(Wiring& wiring, std::vector<TapEntry> taps, const TapSettings& settings, const Pace& pace,
            int input);

  // Read now, and at each SIGUSR2; then what could be done is said on stdout.
  using FaultSource = std::function<std::vector<CableFault>()>;
  void set_fault_source(FaultSource read);

  // Until SIGTERM, SIGINT, the input's end or `seconds` (0: no limit). Statistics on SIGUSR1 go to stdout.
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
    Instant hold = 0;     // what comes for it may wait so long for what is right behind
    StationId link = -1;  // once it has sent
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
  // What became of a frame that was read.
  enum class Fate : std::uint8_t { sent, answered, group, unknown, malformed, no_way, to_itself, lost };
  static constexpr std::size_t fates = 8;
  static constexpr std::int64_t never_nanoseconds = std::int64_t{1} << 62;

  // Among the numbers of the TAPs, in epoll's data.
  static constexpr std::uint64_t id_timer = ~0ull, id_signals = ~1ull, id_input = ~2ull;

  std::int64_t now() const;  // nanoseconds since the beginning
  int bundle_frames(Port port, const TapSettings& settings) const;
  double frame_seconds(Port port, const TapSettings& settings) const;  // of the longest, on that link
  void add_tap(TapEntry entry, const TapSettings& settings);
  void look(std::int64_t wait_until);
  void handle_signal();
  void read_frames();
  bool may_read(const Tap& tap) const;
  bool read_frame(Tap& tap);
  Fate classify(Tap& tap, BundleId id);
  Fate send(Tap& from, BundleId id, const Tap& to);
  bool answer(Tap& from, std::span<const std::byte> frame);
  void deliver();
  void hand_over(const Parcel& parcel);
  void put(Tap& tap, std::span<const std::byte> header, std::span<const std::byte> payload);
  void rest(std::int64_t last_look);
  std::int64_t next_needed(std::int64_t here) const;

  void take_faults(std::span<const CableFault> faults);
  void reread_faults();
  bool is_out(const Tap& tap) const;  // frames are lost there, in the directions of its outage
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
  std::int64_t began_ = 0, armed_ = 0;                        // armed_: when the timer goes off, or went
  SpreadCounter lateness_, lateness_lately_, held_, pauses_;  // lately: since somebody asked
  std::int64_t count_[fates] = {};
  std::int64_t not_taken_ = 0, pieces_read_ = 0, pieces_written_ = 0;
  std::int64_t processor_at_start_ = 0;  // nanoseconds
  FaultSource fault_source_;
  std::int64_t next_carrier_ = never_nanoseconds;  // by the machine's clock, when some link goes or comes
};

}  // namespace crosscut::user_switch
