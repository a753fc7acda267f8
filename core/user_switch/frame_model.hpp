// Frames through stations and queues, under a clock that the caller moves: the switch without its wires.
//
// A station passes on one frame at a time, at its rate: a direction of a link, or what a switch's inside
// carries. It takes frames from queues, in turn among those that wait for it. A queue is first in, first out,
// and its head waits for one station; the next frame's turn comes when the head's last bit has left. So a
// queue at an output delays only frames for that output, and a queue at an input also those behind
// (head-of-line blocking; Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division packet
// switch", IEEE Trans. Commun. 35(12), 1987). What the two have in common is all that is here.
//
// Nothing here knows a clock, a socket or the frames' contents.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace crosscut::user_switch {

// Picoseconds since the emulation began: a byte at 100 Mbit/s is 80,000 of them, at 400 Gbit/s 20. 106 days
// fit.
using Instant = std::int64_t;
inline constexpr double instants_per_second = 1e12;
inline constexpr Instant never = std::numeric_limits<Instant>::max();
Instant instant_of(double seconds);

using StationId = std::int32_t;
using QueueId = std::int32_t;
using PathId = std::int32_t;
using Handle = std::uint32_t;  // what the caller calls a frame

inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

struct StationSpec {
  double bits_per_second = 0;
  // What a switch's inside carries takes its time from the frames that follow, not from the frame: it moves
  // cells, and the way out begins with the first of them.
  bool is_internal = false;
};

struct QueueSpec {
  std::int64_t bytes_max = unlimited;  // of frames, without framing
  std::int64_t frames_max = unlimited;
};

// One station of a way.
struct Step {
  StationId station = 0;
  QueueId queue = 0;
  Instant delay = 0;  // after it: of the link, and of the switch that the link leads to
  bool whole =
      true;  // what follows waits for the last bit (store and forward), or for the header (cut-through)
};

struct Framing {
  std::int64_t added_bytes = 24;  // on the wire: preamble and start 8, check sequence 4, gap 12 (IEEE 802.3,
                                  // clauses 3 and 4.4.2)
  std::int64_t shortest_bytes = 60;  // without the check sequence; shorter frames are padded
  std::int64_t header_bytes = 22;    // preamble and header: what cut-through must have seen
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
  PathId add_path(std::span<const Step> steps);  // at least one
  // From the next frame on.
  void set_rate(StationId station, double bits_per_second);

  // A frame comes to its way's first queue at `now`, not before anything that has happened.
  void offer(Instant now, Handle handle, std::int64_t bytes, PathId way) {
    offer(now, handle, bytes, way, steps_[paths_[index(way)].first].queue);
  }
  // It waits for the way's first station in this queue, in place of the way's own.
  void offer(Instant now, Handle handle, std::int64_t bytes, PathId way, QueueId first);
  // Everything up to and including `until` happens.
  void advance(Instant until);
  std::optional<Instant> next_event() const;
  // Nothing that is not in `delivered` yet is due before, unless it is yet to be offered: until then the
  // clock need not be moved. `never`: nothing is inside.
  Instant nothing_due_before() const;

  // What happened since they were last cleared, in the order of time; the caller clears them. A delivery is
  // said when its last link begins with it: it is due later.
  std::vector<Delivery>& delivered() { return delivered_; }
  std::vector<Handle>& dropped() { return dropped_; }

  std::int64_t queued_bytes(QueueId queue) const { return queues_[index(queue)].bytes; }
  std::int64_t frames_inside() const { return inside_; }
  const StationCounts& counts(StationId station) const { return stations_[index(station)].counts; }
  StationId first_station(PathId way) const { return steps_[paths_[index(way)].first].station; }
  // In whatever queue, for that station.
  std::int64_t waiting_bytes(StationId station) const { return stations_[index(station)].waiting_bytes; }
  // On the wire, at that station.
  Instant duration(StationId station, std::int64_t bytes) const;

 private:
  using PacketId = std::int32_t;
  struct Packet {
    Handle handle = 0;
    std::int32_t bytes = 0;
    QueueId queue = 0;              // where it waits, or is about to
    std::size_t step = 0, end = 0;  // into steps_
    Instant tail = 0;               // when its last bit is where it waits
    PacketId behind = -1;           // in the queue
  };
  struct Queue {
    QueueSpec spec;
    std::int64_t bytes = 0, frames = 0;
    PacketId head = -1, last = -1;
    QueueId behind = -1;  // among those that wait for the head's station
  };
  struct Station {
    double instants_per_byte = 0;
    bool is_internal = false;
    QueueId head = -1, last = -1;  // queues that wait, in turn
    QueueId serving = -1;
    std::int64_t waiting_bytes = 0;
    StationCounts counts{};
  };
  struct WaySpan {
    std::size_t first = 0, end = 0;
  };
  // At one instant departures come first: the room that they leave is there for what arrives.
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
  // What its way takes from here on where nobody is before it.
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
  Instant shortest_end_ = never;  // of any way: its last link, with the shortest frame
  std::int64_t inside_ = 0;
  std::vector<Delivery> delivered_;
  std::vector<Handle> dropped_;
};

}  // namespace crosscut::user_switch
