// The switch at work: frames from TAP devices through the model and out again, each when it is due.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "fd.hpp"
#include "frame_pool.hpp"
#include "json.hpp"
#include "spread_counter.hpp"
#include "tap_device.hpp"
#include "wiring.hpp"

namespace crosscut::frames {

struct Pace {
  double spin_seconds = 15e-6;     // the end of each wait is not slept away
  double quantum_seconds = 20e-6;  // between two looks at the world, when it is busy
  bool realtime = true;            // before all that has no such priority: the hosts
  double ahead_seconds = 1e-3;     // of each adapter's link: what is taken from the host before its time
};

class Emulation {
 public:
  // `input`: ends the emulation when it closes; -1: none.
  Emulation(Wiring& wiring, std::vector<TapEntry> taps, const TapSettings& settings, const Pace& pace,
            int input);

  // Until SIGTERM, SIGINT, the input's end or `seconds` (0: no limit). Statistics on SIGUSR1 go to stdout.
  void run(double seconds);
  json::Value statistics() const;
  bool is_realtime() const { return is_realtime_; }
  std::size_t taps() const { return taps_.size(); }

 private:
  struct Tap {
    TapEntry entry;
    Fd fd;
    std::int64_t ahead_bytes = 0;
    QueueId waits_in = -1;  // its latest frame's
    bool is_ready = false;
    std::int64_t read = 0, delivered = 0;
  };
  struct MacHash {
    std::size_t operator()(const Mac& mac) const;
  };
  // What became of a frame that was read.
  enum class Fate : std::uint8_t { sent, answered, group, unknown, too_short, no_way, to_itself };
  static constexpr std::size_t fates = 7;

  std::int64_t now() const;  // nanoseconds since the beginning
  void look(std::int64_t wait_until);
  void handle_signal();
  void read_frames();
  bool may_read(const Tap& tap) const;
  bool read_frame(Tap& tap);
  void classify(Tap& tap, Handle slot);
  Fate send(Tap& from, Handle slot, Port to, std::span<const std::byte> frame);
  bool answer(Tap& from, std::span<const std::byte> frame);
  void deliver();
  void put(Tap& tap, std::span<const std::byte> offloaded_frame);
  void sleep_or_spin(std::int64_t last_look);

  static double processor_seconds();

  Wiring& wiring_;
  Pace pace_;
  std::vector<Tap> taps_;
  std::unordered_map<Mac, std::size_t, MacHash> by_mac_;
  std::vector<std::pair<Ipv4, Mac>> by_address_;  // sorted
  FramePool pool_;
  Fd epoll_, timer_, signals_;
  int input_ = -1;
  bool ended_ = false, is_realtime_ = false;
  std::int64_t began_ = 0, armed_ = 0;                 // armed_: when the timer goes off, or went
  SpreadCounter lateness_, lateness_lately_, pauses_;  // lately: since somebody asked
  std::int64_t count_[fates] = {};
  std::int64_t not_taken_ = 0;
  double processor_at_start_ = 0;
};

}  // namespace crosscut::frames
