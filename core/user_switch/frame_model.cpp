#include "user_switch/frame_model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace crosscut::user_switch {

namespace {
constexpr double bits_per_byte = 8;

double per_byte(double bits_per_second) { return bits_per_byte * instants_per_second / bits_per_second; }
}  // namespace

Instant instant_of(double seconds) { return std::llround(seconds * instants_per_second); }

StationId FrameModel::add_station(const StationSpec& spec) {
  stations_.push_back({.instants_per_byte = per_byte(spec.bits_per_second), .is_internal = spec.is_internal});
  return static_cast<StationId>(stations_.size() - 1);
}

QueueId FrameModel::add_queue(const QueueSpec& spec) {
  queues_.push_back({.spec = spec});
  return static_cast<QueueId>(queues_.size() - 1);
}

PathId FrameModel::add_path(std::span<const Step> steps) {
  const auto first = steps_.size();
  steps_.insert(steps_.end(), steps.begin(), steps.end());
  paths_.push_back({first, steps_.size()});
  shortest_end_ = std::min(shortest_end_, shortest_end(paths_.back()));
  return static_cast<PathId>(paths_.size() - 1);
}

Instant FrameModel::shortest_end(const WaySpan& way) const {
  const auto& last = steps_[way.end - 1];
  return duration(last.station, 0) + last.delay;
}

void FrameModel::set_rate(StationId station, double bits_per_second) {
  stations_[index(station)].instants_per_byte = per_byte(bits_per_second);
  shortest_end_ = never;
  for (const auto& way : paths_) shortest_end_ = std::min(shortest_end_, shortest_end(way));
}

Instant FrameModel::duration(StationId station, std::int64_t bytes) const {
  const auto on_wire = std::max(bytes, framing_.shortest_bytes) + framing_.added_bytes;
  return std::llround(static_cast<double>(on_wire) * stations_[index(station)].instants_per_byte);
}

void FrameModel::schedule(Instant at, Kind kind, std::int32_t id) {
  events_.push_back({at, kind, order_++, id});
  std::ranges::push_heap(events_, std::greater{});
}

FrameModel::PacketId FrameModel::take_packet() {
  if (free_.empty()) {
    packets_.emplace_back();
    return static_cast<PacketId>(packets_.size() - 1);
  }
  const auto id = free_.back();
  free_.pop_back();
  return id;
}

void FrameModel::offer(Instant now, Handle handle, std::int64_t bytes, PathId way, QueueId first) {
  const auto id = take_packet();
  const auto& span = paths_[index(way)];
  packets_[index(id)] = {.handle = handle,
                         .bytes = static_cast<std::int32_t>(bytes),
                         .queue = first,
                         .step = span.first,
                         .end = span.end,
                         .tail = now};
  ++inside_;
  enqueue(now, id);
}

void FrameModel::enqueue(Instant now, PacketId id) {
  auto& packet = packets_[index(id)];
  packet.behind = -1;
  const auto& step = steps_[packet.step];
  auto& queue = queues_[index(packet.queue)];
  if (queue.bytes > queue.spec.bytes_max - packet.bytes || queue.frames >= queue.spec.frames_max) {
    auto& counts = stations_[index(step.station)].counts;
    ++counts.dropped_frames;
    counts.dropped_bytes += packet.bytes;
    dropped_.push_back(packet.handle);
    free_.push_back(id);
    --inside_;
    return;
  }
  queue.bytes += packet.bytes;
  stations_[index(step.station)].waiting_bytes += packet.bytes;
  ++queue.frames;
  if (queue.head < 0) {
    queue.head = queue.last = id;
    request(now, packet.queue);
  } else {
    packets_[index(queue.last)].behind = id;
    queue.last = id;
  }
}

// Requests the station that the queue's head waits for. A station serves requests in their order, so queues
// that always have a frame for it take turns.
void FrameModel::request(Instant now, QueueId queue) {
  const auto station_id = steps_[packets_[index(queues_[index(queue)].head)].step].station;
  auto& station = stations_[index(station_id)];
  queues_[index(queue)].behind = -1;
  if (station.head < 0) {
    station.head = station.last = queue;
  } else {
    queues_[index(station.last)].behind = queue;
    station.last = queue;
  }
  if (station.serving < 0) serve(now, station_id);
}

// Returns when the frame arrives at the next station; its tail is known already.
Instant FrameModel::arrival_after(const Station& station, const Packet& packet, Instant began,
                                  Instant taken) const {
  const auto& step = steps_[packet.step];
  const auto next = steps_[packet.step + 1].station;
  Instant arrival = packet.tail;
  if (station.is_internal) {
    arrival = began + step.delay;
  } else if (!step.whole) {
    const auto on_wire = std::max<std::int64_t>(packet.bytes, framing_.shortest_bytes) + framing_.added_bytes;
    const auto header = std::min(framing_.header_bytes, on_wire);
    arrival = began + taken / on_wire * header + taken % on_wire * header / on_wire + step.delay;
  }
  if (stations_[index(next)].is_internal) return arrival;
  // A link must not run out of bits of a frame that is still coming in.
  return std::max(arrival, packet.tail - duration(next, packet.bytes));
}

void FrameModel::serve(Instant now, StationId station_id) {
  auto& station = stations_[index(station_id)];
  const auto queue = station.head;
  station.serving = queue;
  if (queue < 0) return;
  station.head = queues_[index(queue)].behind;
  // A copy: while its bytes leave this queue, the packet may already be in the next.
  Packet packet = packets_[index(queues_[index(queue)].head)];
  const auto taken = duration(station_id, packet.bytes);
  station.counts.busy += taken;
  schedule(now + taken, Kind::departure, station_id);
  packet.tail = std::max(packet.tail, now + taken) + steps_[packet.step].delay;
  if (packet.step + 1 == packet.end) {
    --inside_;
    delivered_.push_back({packet.handle, packet.tail});
    return;
  }
  const auto arrival = arrival_after(station, packet, now, taken);
  packet.queue = steps_[++packet.step].queue;
  const auto onward = take_packet();
  packets_[index(onward)] = packet;
  schedule(arrival, Kind::arrival, onward);
}

void FrameModel::depart(Instant now, StationId station_id) {
  const auto queue_id = stations_[index(station_id)].serving;
  auto& queue = queues_[index(queue_id)];
  const auto id = queue.head;
  const auto& packet = packets_[index(id)];
  queue.bytes -= packet.bytes;
  stations_[index(station_id)].waiting_bytes -= packet.bytes;
  --queue.frames;
  queue.head = packet.behind;
  auto& counts = stations_[index(station_id)].counts;
  ++counts.frames;
  counts.bytes += packet.bytes;
  free_.push_back(id);
  if (queue.head >= 0) request(now, queue_id);
  serve(now, station_id);
}

void FrameModel::advance(Instant until) {
  while (!events_.empty() && events_.front().at <= until) {
    const Event event = events_.front();
    std::ranges::pop_heap(events_, std::greater{});
    events_.pop_back();
    if (event.kind == Kind::departure)
      depart(event.at, event.id);
    else
      enqueue(event.at, event.id);
  }
}

std::optional<Instant> FrameModel::next_event() const {
  if (events_.empty()) return std::nullopt;
  return events_.front().at;
}

Instant FrameModel::least_left(const Packet& packet) const {
  Instant left = 0;
  for (auto i = packet.step; i < packet.end; ++i) {
    const auto& step = steps_[i];
    const bool takes_whole =
        i + 1 == packet.end || (step.whole && !stations_[index(step.station)].is_internal);
    left += step.delay + (takes_whole ? duration(step.station, packet.bytes) : 0);
  }
  return left;
}

// Like least_left, also for the frames that wait behind it, whatever their path.
Instant FrameModel::least_left_from(PacketId id) const {
  if (id < 0) return never;
  const auto& packet = packets_[index(id)];
  return std::min(least_left(packet), duration(steps_[packet.step].station, packet.bytes) + shortest_end_);
}

// Returns the least time from when the station is free until the delivery of a frame that waits for it, or of
// one that waits behind the frame now leaving.
Instant FrameModel::least_left_behind(StationId station_id) const {
  const auto& station = stations_[index(station_id)];
  const auto waits = station.head < 0 ? PacketId{-1} : queues_[index(station.head)].head;
  const auto serves = queues_[index(station.serving)].head;
  return std::min(least_left_from(waits), least_left_from(packets_[index(serves)].behind));
}

Instant FrameModel::nothing_due_before() const {
  auto earliest = never;
  for (const auto& event : events_) {
    const auto left =
        event.kind == Kind::arrival ? least_left(packets_[index(event.id)]) : least_left_behind(event.id);
    if (left != never) earliest = std::min(earliest, event.at + left);
  }
  return earliest;
}

}  // namespace crosscut::user_switch
