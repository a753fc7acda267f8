// Moves frames through stations and queues, under a clock that the caller advances.
//
// A station passes one frame at a time, at its rate; it is one direction of a link, or the capacity inside a
// switch. It takes frames from the queues that wait for it, in turn. A queue is first in, first out, and its
// head waits for one station; the next frame's turn comes when the head's last bit has left. A queue at an
// output therefore delays only frames for that output, and a queue at an input also those behind its head
// (head-of-line blocking; Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division packet
// switch", IEEE Trans. Commun. 35(12), 1987).
//
// Nothing here depends on a clock, a socket or the content of frames.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace crosscut::user_switch {

// Picoseconds since the emulation began; 106 days fit. A byte takes 80,000 at 100 Mbit/s, 20 at 400 Gbit/s.
using Instant = std::int64_t;
inline constexpr double instants_per_second = 1e12;
inline constexpr Instant never = std::numeric_limits<Instant>::max();
Instant instant_of(double seconds);

using StationId = std::int32_t;
using QueueId = std::int32_t;
using PathId = std::int32_t;
using Handle = std::uint32_t;  // the caller's name for a frame

inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

struct StationSpec {
  double bits_per_second = 0;
  // The inside of a switch delays the frames that follow, not the frame itself: it moves cells, and the
  // output starts sending with the first of them.
  bool is_internal = false;
};

struct QueueSpec {
  std::int64_t bytes_max = unlimited;  // of frames, without framing
  std::int64_t frames_max = unlimited;
};

// One station of a path.
struct Step {
  StationId station = 0;
  QueueId queue = 0;
  Instant delay = 0;  // after the station: of the link, and of the switch that it leads to
  // True: the next step waits for the last bit (store and forward); false: for the header (cut-through).
  bool whole = true;
};

struct Framing {
  // On the wire: preamble and start 8, check sequence 4, gap 12 (IEEE 802.3, clauses 3 and 4.4.2).
  std::int64_t added_bytes = 24;
  std::int64_t shortest_bytes = 60;  // without the check sequence; shorter frames are padded
  std::int64_t header_bytes = 22;    // preamble and header: what cut-through reads before it forwards
};

struct Delivery {
  Handle handle = 0;
  Instant due = 0;
};

struct StationCounts {
  std::int64_t frames = 0, bytes = 0;  // passed on; without framing
  std::int64_t dropped_frames = 0, dropped_bytes = 0;
  Instant busy = 0;
};

class FrameModel {
 public:
  explicit FrameModel(Framing framing = {}) : framing_(framing) {}

  StationId add_station(const StationSpec& spec);
  QueueId add_queue(const QueueSpec& spec);
  PathId add_path(std::span<const Step> steps);  // at least one step
  // Takes effect with the next frame.
  void set_rate(StationId station, double bits_per_second);

  // Adds a frame to its path's first queue at `now`, which must not be before anything that has happened.
  void offer(Instant now, Handle handle, std::int64_t bytes, PathId way) {
    offer(now, handle, bytes, way, steps_[paths_[index(way)].first].queue);
  }
  // As above, but the frame waits for the path's first station in queue `first`.
  void offer(Instant now, Handle handle, std::int64_t bytes, PathId way, QueueId first);
  // Advances the clock to `until`, inclusive.
  void advance(Instant until);
  std::optional<Instant> next_event() const;
  // Returns a lower bound on when the next frame falls due, apart from those in `delivered` and those not yet
  // offered. The clock need not advance until then. `never`: nothing is inside.
  Instant nothing_due_before() const;

  // Events since these lists were last cleared, in order of time; the caller clears them. A delivery is
  // listed when the frame's last link begins to send it, before it is due.
  std::vector<Delivery>& delivered() { return delivered_; }
  std::vector<Handle>& dropped() { return dropped_; }

  std::int64_t queued_bytes(QueueId queue) const { return queues_[index(queue)].bytes; }
  std::int64_t frames_inside() const { return inside_; }
  const StationCounts& counts(StationId station) const { return stations_[index(station)].counts; }
  StationId first_station(PathId way) const { return steps_[paths_[index(way)].first].station; }
  // Counts all queues of that station.
  std::int64_t waiting_bytes(StationId station) const { return stations_[index(station)].waiting_bytes; }
  // Returns the frame's time on the wire at that station.
  Instant duration(StationId station, std::int64_t bytes) const;

 private:
  using PacketId = std::int32_t;
  struct Packet {
    Handle handle = 0;
    std::int32_t bytes = 0;
    QueueId queue = 0;              // where it waits, or will wait next
    std::size_t step = 0, end = 0;  // into steps_
    Instant tail = 0;               // when its last bit arrives where it waits
    PacketId behind = -1;           // next in the queue
  };
  struct Queue {
    QueueSpec spec;
    std::int64_t bytes = 0, frames = 0;
    PacketId head = -1, last = -1;
    QueueId behind = -1;  // next among those that wait for the head's station
  };
  struct Station {
    double instants_per_byte = 0;
    bool is_internal = false;
    QueueId head = -1, last = -1;  // waiting queues, in turn
    QueueId serving = -1;
    std::int64_t waiting_bytes = 0;
    StationCounts counts{};
  };
  struct WaySpan {
    std::size_t first = 0, end = 0;
  };
  // At the same instant departures come first, so that they make room for arrivals.
  enum class Kind : std::uint8_t { departure, arrival };
  struct Event {
    Instant at;
    Kind kind;
    std::uint64_t order;
    std::int32_t id;  // station, or packet
    auto operator<=>(const Event&) const = default;
  };

  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  void schedule(Instant at, Kind kind, std::int32_t id);
  void enqueue(Instant now, PacketId id);
  // Returns the time that the rest of its path takes if it never waits.
  Instant least_left(const Packet& packet) const;
  Instant least_left_from(PacketId id) const;
  Instant least_left_behind(StationId station) const;
  Instant arrival_after(const Station& station, const Packet& packet, Instant began, Instant taken) const;
  void depart(Instant now, StationId station);
  void request(Instant now, QueueId queue);
  void serve(Instant now, StationId station);
  PacketId take_packet();
  Instant shortest_end(const WaySpan& way) const;

  Framing framing_;
  std::vector<Station> stations_;
  std::vector<Queue> queues_;
  std::vector<WaySpan> paths_;
  std::vector<Step> steps_;
  std::vector<Packet> packets_;
  std::vector<PacketId> free_;
  std::vector<Event> events_;  // a heap, the earliest in front
  std::uint64_t order_ = 0;
  Instant shortest_end_ = never;  // least over all paths: last link, shortest frame
  std::int64_t inside_ = 0;
  std::vector<Delivery> delivered_;
  std::vector<Handle> dropped_;
};

}  // namespace crosscut::user_switch
