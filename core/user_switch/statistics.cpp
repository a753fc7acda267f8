// What the emulation says of itself: what passed where, what was lost, and whether it kept its times.
#include <sys/resource.h>

#include "base/clock.hpp"
#include "user_switch/emulation.hpp"

namespace crosscut::user_switch {
namespace {

json::Object spread(const SpreadCounter& counter) {
  constexpr double median = 0.5, high = 0.99;
  return {{"count", counter.count()},
          {"median", counter.quantile_seconds(median)},
          {"p99", counter.quantile_seconds(high)},
          {"max", counter.largest_seconds()}};
}

}  // namespace

double Emulation::processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

json::Value Emulation::statistics() const {
  const double elapsed = static_cast<double>(now()) * 1e-9;
  std::int64_t read = 0, delivered = 0, lost = 0;
  json::Array hosts;
  for (const auto& tap : taps_) {
    const auto lost_here = lost_in_host(tap.entry);
    read += tap.read;
    delivered += tap.delivered;
    lost += std::max<std::int64_t>(lost_here, 0);
    hosts.push_back(json::Object{{"host", std::int64_t{tap.entry.port.host}},
                                 {"adapter", tap.entry.port.adapter},
                                 {"read", tap.read},
                                 {"delivered", tap.delivered},
                                 {"lost_in_host", lost_here < 0 ? json::Value() : json::Value(lost_here)}});
  }
  std::int64_t dropped = 0;
  json::Array stations;
  for (const auto& each : wiring_.passed()) {
    dropped += each.counts.dropped_frames;
    stations.push_back(json::Object{
        {"name", each.name},
        {"bits_per_second", each.bits_per_second},
        {"frames", each.counts.frames},
        {"bytes", each.counts.bytes},
        {"dropped_frames", each.counts.dropped_frames},
        {"dropped_bytes", each.counts.dropped_bytes},
        {"busy_seconds", static_cast<double>(each.counts.busy) / instants_per_second},
    });
  }
  const auto count = [this](Fate fate) { return count_[static_cast<std::size_t>(fate)]; };
  return json::Object{
      {"event", "statistics"},
      {"seconds", elapsed},
      {"cpu_share", elapsed > 0 ? (processor_seconds() - processor_at_start_) / elapsed : 0},
      {"lateness_seconds", spread(lateness_)},
      {"lateness_lately_seconds", spread(lateness_lately_)},
      {"held_seconds", spread(held_)},
      {"pause_seconds", spread(pauses_)},
      {"pieces", json::Object{{"read", pieces_read_}, {"written", pieces_written_}}},
      {"frames", json::Object{{"read", read},
                              {"delivered", delivered},
                              {"inside", wiring_.model().frames_inside() + outbox_.frames_waiting()},
                              {"dropped", dropped},
                              {"lost_in_hosts", lost},
                              {"not_taken", not_taken_},
                              {"answered", count(Fate::answered)},
                              {"group", count(Fate::group)},
                              {"unknown_address", count(Fate::unknown)},
                              {"malformed", count(Fate::malformed)},
                              {"no_way", count(Fate::no_way)},
                              {"to_itself", count(Fate::to_itself)},
                              {"lost_by_faults", count(Fate::lost)}}},
      {"taps", std::move(hosts)},
      {"stations", std::move(stations)},
  };
}

}  // namespace crosscut::user_switch
