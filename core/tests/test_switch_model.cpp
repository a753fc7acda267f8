// The frame model of crosscut-switch under a manual clock.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "tests/check.hpp"
#include "user_switch/frame_model.hpp"
#include "user_switch/host_queues.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::user_switch;

constexpr double fast_ethernet = 100e6;
constexpr Instant picoseconds_per_byte = 80'000;  // at 100 Mbit/s
constexpr Instant microsecond = 1'000'000;
constexpr std::int64_t full_frame = 1514;
constexpr Instant full_frame_time = (full_frame + 24) * picoseconds_per_byte;

// Drains the model.
std::vector<Delivery> drain(FrameModel& model) {
  while (const auto next = model.next_event()) model.advance(*next);
  return model.delivered();
}

// Hosts on one switch with output or input queues.
struct Star {
  FrameModel model;
  std::vector<StationId> up, down;
  std::vector<QueueId> in, out;
  bool at_input;

  Star(int hosts, bool input_queued, QueueSpec buffer = {}) : at_input(input_queued) {
    for (int i = 0; i < hosts; ++i) {
      up.push_back(model.add_station({.bits_per_second = fast_ethernet}));
      down.push_back(model.add_station({.bits_per_second = fast_ethernet}));
      in.push_back(model.add_queue({}));
      out.push_back(model.add_queue(buffer));
    }
  }
  // In an input-queued switch the frame waits in `out[from]`, whatever its destination.
  PathId way(int from, int to, bool whole = true, Instant delay = 0) {
    const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
    const std::array<Step, 2> steps{Step{.station = up[a], .queue = in[a], .delay = delay, .whole = whole},
                                    Step{.station = down[b], .queue = out[at_input ? a : b], .delay = delay}};
    return model.add_path(steps);
  }
};

TEST(frames_of_one_link_leave_at_exactly_its_rate) {
  FrameModel model;
  const Step step{.station = model.add_station({.bits_per_second = fast_ethernet}),
                  .queue = model.add_queue({})};
  const auto way = model.add_path(std::span(&step, 1));
  constexpr int frames = 1000;
  for (Handle i = 0; i < frames; ++i) model.offer(0, i, full_frame, way);
  const auto delivered = drain(model);
  REQUIRE(delivered.size() == frames);
  for (std::size_t i = 0; i < frames; ++i) {
    CHECK_EQ(delivered[i].handle, i);
    CHECK_EQ(delivered[i].due, static_cast<Instant>(i + 1) * full_frame_time);
  }
  CHECK_EQ(model.counts(step.station).busy, frames * full_frame_time);
}

TEST(a_rate_that_does_not_divide_a_second_is_off_by_at_most_half_a_picosecond_per_frame) {
  FrameModel model;
  constexpr double rate = 98.44e6;
  const Step step{.station = model.add_station({.bits_per_second = rate}), .queue = model.add_queue({})};
  const auto way = model.add_path(std::span(&step, 1));
  constexpr int frames = 10'000;
  for (Handle i = 0; i < frames; ++i) model.offer(0, i, full_frame, way);
  const double ideal = frames * 1538.0 * 8 / rate * 1e12;
  CHECK(std::abs(static_cast<double>(drain(model).back().due) - ideal) <= frames * 0.5);
}

TEST(a_short_frame_takes_the_time_of_a_minimum_frame) {
  FrameModel model;
  const auto station = model.add_station({.bits_per_second = fast_ethernet});
  CHECK_EQ(model.duration(station, 42), 84 * picoseconds_per_byte);
  CHECK_EQ(model.duration(station, 60), 84 * picoseconds_per_byte);
  CHECK_EQ(model.duration(station, 61), 85 * picoseconds_per_byte);
}

TEST(store_and_forward_adds_a_serialisation_and_a_latency_per_link) {
  Star star(2, false);
  star.model.offer(5, 1, full_frame, star.way(0, 1, true, 20 * microsecond));
  CHECK_EQ(drain(star.model).at(0).due, 5 + 2 * full_frame_time + 40 * microsecond);
}

TEST(cut_through_adds_only_the_header_of_the_first_link) {
  Star star(2, false);
  star.model.offer(0, 1, full_frame, star.way(0, 1, false, 20 * microsecond));
  CHECK_EQ(drain(star.model).at(0).due, full_frame_time + 22 * picoseconds_per_byte + 40 * microsecond);
}

TEST(cut_through_onto_a_faster_link_never_runs_ahead_of_the_frame) {
  FrameModel model;
  const auto slow = model.add_station({.bits_per_second = fast_ethernet});
  const auto fast = model.add_station({.bits_per_second = 10 * fast_ethernet});
  const std::array<Step, 2> steps{Step{.station = slow, .queue = model.add_queue({}), .whole = false},
                                  Step{.station = fast, .queue = model.add_queue({})}};
  model.offer(0, 1, full_frame, model.add_path(steps));
  CHECK_EQ(drain(model).at(0).due, full_frame_time);  // its last bit leaves as it arrives
}

TEST(a_switch_s_capacity_delays_no_single_frame_and_limits_the_rate_of_many) {
  FrameModel model;
  const auto inside = model.add_station({.bits_per_second = 2 * fast_ethernet, .is_internal = true});
  std::vector<PathId> ways;
  for (int i = 0; i < 4; ++i) {
    const std::array<Step, 3> steps{
        Step{.station = model.add_station({.bits_per_second = fast_ethernet}), .queue = model.add_queue({})},
        Step{.station = inside, .queue = model.add_queue({})},
        Step{.station = model.add_station({.bits_per_second = fast_ethernet}), .queue = model.add_queue({})}};
    ways.push_back(model.add_path(steps));
  }
  model.offer(0, 0, full_frame, ways[0]);
  CHECK_EQ(drain(model).at(0).due, 2 * full_frame_time);
  model.delivered().clear();
  constexpr int each = 100;
  for (int i = 0; i < each; ++i)
    for (const auto way : ways) model.offer(1'000'000 * microsecond, 0, full_frame, way);
  const auto last = drain(model).back().due - 1'000'000 * microsecond;
  // Four at half rate: the first frame's time, then 400 at the switch's capacity, then the last link.
  CHECK_EQ(last, full_frame_time + (4 * each - 1) * full_frame_time / 2 + full_frame_time);
}

TEST(a_tail_is_dropped_exactly_when_the_queue_is_full) {
  FrameModel model;
  const auto station = model.add_station({.bits_per_second = fast_ethernet});
  const Step step{.station = station, .queue = model.add_queue({.bytes_max = 3 * full_frame})};
  const auto way = model.add_path(std::span(&step, 1));
  for (Handle i = 0; i < 4; ++i) model.offer(0, i, full_frame, way);
  REQUIRE(model.dropped().size() == 1);
  CHECK_EQ(model.dropped()[0], 3u);
  CHECK_EQ(model.queued_bytes(step.queue), 3 * full_frame);
  // Room of a byte less than a frame does not suffice; at the instant at which a frame has left, there is
  // room.
  model.advance(full_frame_time - 1);
  model.offer(full_frame_time - 1, 4, full_frame, way);
  CHECK_EQ(model.dropped().size(), 2u);
  model.advance(full_frame_time);
  model.offer(full_frame_time, 5, full_frame, way);
  CHECK_EQ(model.dropped().size(), 2u);
  CHECK_EQ(model.counts(station).dropped_frames, 2);
  CHECK_EQ(model.counts(station).dropped_bytes, 2 * full_frame);
}

TEST(a_queue_bounded_in_frames_holds_that_many_of_any_length) {
  FrameModel model;
  const Step step{.station = model.add_station({.bits_per_second = fast_ethernet}),
                  .queue = model.add_queue({.frames_max = 5})};
  const auto way = model.add_path(std::span(&step, 1));
  for (Handle i = 0; i < 8; ++i) model.offer(0, i, 60, way);
  CHECK_EQ(model.dropped().size(), 3u);
}

TEST(queues_that_always_wait_for_a_station_are_served_in_turn) {
  Star star(4, true);
  for (Handle i = 0; i < 30; ++i)
    for (int from = 0; from < 3; ++from)
      star.model.offer(0, static_cast<Handle>(from), full_frame, star.way(from, 3));
  const auto delivered = drain(star.model);
  REQUIRE(delivered.size() == 90);
  for (std::size_t i = 0; i + 3 <= delivered.size(); i += 3) {
    std::array<Handle, 3> three{delivered[i].handle, delivered[i + 1].handle, delivered[i + 2].handle};
    std::ranges::sort(three);
    CHECK((three == std::array<Handle, 3>{0, 1, 2}));
  }
}

// Hosts 0 and 1 flood 2; host 0 has one more frame, for 3, behind its first.
Instant time_of_the_one_behind(bool input_queued) {
  Star star(4, input_queued);
  constexpr Handle behind = 99;
  for (int i = 0; i < 3; ++i) star.model.offer(0, 1, full_frame, star.way(1, 2));
  for (int i = 0; i < 3; ++i) star.model.offer(0, 0, full_frame, star.way(0, 2));
  star.model.offer(0, behind, full_frame, star.way(0, 3));
  for (const auto& delivery : drain(star.model))
    if (delivery.handle == behind) return delivery.due;
  return -1;
}

TEST(input_queues_have_head_of_line_blocking_and_output_queues_do_not) {
  CHECK_EQ(time_of_the_one_behind(false), 5 * full_frame_time);
  CHECK_EQ(time_of_the_one_behind(true), 8 * full_frame_time);  // after all six for host 2
}

// Random traffic: no frame is lost, duplicated or overtaken.
void check_random_traffic(std::uint64_t seed) {
  Random random(seed);
  const bool input_queued = random.below(2) == 0, whole = random.below(2) == 0;
  constexpr int hosts = 5;
  Star star(hosts, input_queued, {.bytes_max = 20'000, .frames_max = 40});
  std::map<std::pair<int, int>, PathId> ways;
  for (int a = 0; a < hosts; ++a)
    for (int b = 0; b < hosts; ++b)
      if (a != b) ways[{a, b}] = star.way(a, b, whole, static_cast<Instant>(random.below(100)) * microsecond);
  std::vector<std::pair<int, int>> flow_of;
  Instant at = 0;
  for (Handle i = 0; i < 2000; ++i) {
    at += static_cast<Instant>(random.below(60)) * microsecond;
    const int a = static_cast<int>(random.below(hosts));
    const int b = static_cast<int>((static_cast<std::uint64_t>(a) + 1 + random.below(hosts - 1)) % hosts);
    star.model.advance(at);
    star.model.offer(at, i, 14 + static_cast<std::int64_t>(random.below(1500)), ways[{a, b}]);
    flow_of.emplace_back(a, b);
    CHECK_EQ(
        std::ssize(star.model.delivered()) + std::ssize(star.model.dropped()) + star.model.frames_inside(),
        static_cast<std::int64_t>(i) + 1);
  }
  drain(star.model);
  std::vector<int> seen(flow_of.size(), 0);
  for (const auto handle : star.model.dropped()) ++seen[handle];
  std::map<std::pair<int, int>, Handle> latest;
  std::map<std::pair<int, int>, Instant> before;
  for (const auto& delivery : star.model.delivered()) {
    ++seen[delivery.handle];
    auto& due_before = before[flow_of[delivery.handle]];
    CHECK(delivery.due > due_before);
    due_before = delivery.due;
    auto& last = latest[flow_of[delivery.handle]];
    CHECK(delivery.handle >= last);
    last = delivery.handle;
  }
  CHECK(std::ranges::all_of(seen, [](int times) { return times == 1; }));
  CHECK_EQ(star.model.frames_inside(), 0);
  for (const auto queue : star.out) CHECK_EQ(star.model.queued_bytes(queue), 0);
}

TEST(every_frame_comes_out_once_or_is_dropped_once_and_none_overtakes_its_flow) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) check_random_traffic(seed);
}

// Random routes through several stations, with frames of any length; the clock moves only when a frame is
// offered and when the model says that something could be due.
void check_that_nothing_is_said_too_late(std::uint64_t seed) {
  Random random(seed);
  FrameModel model;
  std::vector<StationId> stations;
  std::vector<QueueId> queues;
  for (int i = 0; i < 8; ++i) {
    stations.push_back(model.add_station(
        {.bits_per_second = 1e6 * static_cast<double>(1 + random.below(200)), .is_internal = i >= 6}));
    queues.push_back(model.add_queue({.bytes_max = random.below(2) == 0 ? 10'000 : unlimited}));
  }
  std::vector<PathId> ways;
  for (int i = 0; i < 12; ++i) {
    std::vector<Step> steps;
    for (auto left = 1 + random.below(3); left > 0; --left) {
      const auto at = static_cast<std::size_t>(random.below(left == 1 ? 6 : 8));  // the last one is a link
      steps.push_back({stations[at], queues[random.below(2) == 0 ? at : random.below(8)],
                       static_cast<Instant>(random.below(300)) * microsecond, random.below(2) == 0});
    }
    ways.push_back(model.add_path(steps));
  }
  Instant now = 0;
  std::size_t said = 0;
  const auto move_to = [&](Instant at) {
    now = at;
    model.advance(at);
    for (; said < model.delivered().size(); ++said) CHECK(model.delivered()[said].due >= now);
  };
  for (Handle i = 0; i < 500; ++i) {
    const auto at = now + static_cast<Instant>(random.below(400)) * microsecond;
    while (model.nothing_due_before() <= at) move_to(model.nothing_due_before());
    move_to(at);
    model.offer(at, i, 1 + static_cast<std::int64_t>(random.below(1514)), ways[random.below(ways.size())]);
    said = model.delivered().size();  // over a single link: at once
  }
  while (model.nothing_due_before() != never) move_to(model.nothing_due_before());
  CHECK_EQ(model.frames_inside(), 0);
}

TEST(moving_the_clock_only_to_announced_instants_misses_nothing) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) check_that_nothing_is_said_too_late(seed);
}

TEST(flows_of_a_host_take_turns_whatever_their_hashes_have_in_common) {
  Star star(2, false);
  const auto way = star.way(0, 1);
  HostQueues queues;
  constexpr Handle frames = 64;
  constexpr std::uint64_t high_bit = 1ull << 63;
  for (const auto flow : {std::uint64_t{7}, high_bit | 7})  // all frames of one wait before the other's
    for (Handle i = 0; i < frames; ++i)
      star.model.offer(0, flow == 7 ? i : frames + i, full_frame, way, queues.of(flow, star.model));
  const auto delivered = drain(star.model);
  CHECK_EQ(delivered.size(), 2 * frames);
  for (std::size_t i = 2; i < delivered.size() - 2; ++i)
    CHECK((delivered[i].handle < frames) != (delivered[i + 1].handle < frames));
}

TEST(a_host_has_no_more_queues_than_simultaneously_waiting_flows) {
  Star star(2, false);
  const auto way = star.way(0, 1);
  HostQueues queues;
  std::set<QueueId> seen;
  Instant now = 0;
  for (std::uint64_t flow = 0; flow < 300; ++flow) {
    const auto queue = queues.of(flow, star.model);
    seen.insert(queue);
    star.model.offer(now, 0, full_frame, way, queue);
    CHECK_EQ(queues.of(flow, star.model), queue);
    if (flow % 3 == 2) star.model.advance(now += 4 * full_frame_time);
  }
  CHECK_EQ(seen.size(), 3u);
}

TEST(the_next_instant_is_exact_for_a_single_frame) {
  Star star(2, false);
  star.model.offer(0, 1, full_frame, star.way(0, 1, true, 20 * microsecond));
  CHECK_EQ(star.model.nothing_due_before(), 2 * full_frame_time + 40 * microsecond);
  star.model.advance(full_frame_time + 20 * microsecond);  // its last link has begun: it is reported
  CHECK_EQ(star.model.delivered().size(), 1u);
  CHECK_EQ(star.model.nothing_due_before(), never);
}

}  // namespace
