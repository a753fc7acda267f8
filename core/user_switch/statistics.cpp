// The emulation's statistics: what passed where, what was lost, and whether frames left on time.
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "user_switch/emulation.hpp"

namespace crosscut::user_switch {
namespace {

// In the order of Emulation::Fate.
constexpr const char* fate_names[] = {"sent",      "answered", "group",     "unknown_address",
                                      "malformed", "no_way",   "to_itself", "lost_by_faults"};

json::Object spread(const SpreadCounter& counter) {
  constexpr double median = 0.5, high = 0.99;
  return {{"count", counter.count()},
          {"median", counter.quantile_seconds(median)},
          {"p99", counter.quantile_seconds(high)},
          {"max", counter.largest_seconds()}};
}

}  // namespace

void say(const json::Value& value) {
  const auto line = json::write(value) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

json::Value Emulation::statistics() const {
  const double elapsed = static_cast<double>(now()) * 1e-9;
  const auto worked = processor_nanoseconds(Processor::process) - processor_at_start_;
  std::int64_t read = 0, delivered = 0, lost = 0;
  json::Array hosts;
  for (const auto& tap : taps_) {
    const auto lost_here = lost_in_host(tap.entry);
    read += tap.read;
    delivered += tap.delivered;
    lost += std::max<std::int64_t>(lost_here, 0);
    json::Value known;  // null: the kernel does not say
    if (lost_here >= 0) known = lost_here;
    hosts.emplace_back(json::Object{{"host", std::int64_t{tap.entry.port.host}},
                                    {"adapter", tap.entry.port.adapter},
                                    {"read", tap.read},
                                    {"delivered", tap.delivered},
                                    {"lost_in_host", std::move(known)}});
  }
  std::int64_t dropped = 0;
  json::Array stations;
  for (const auto& each : wiring_.passed()) {
    dropped += each.counts.dropped_frames;
    stations.emplace_back(json::Object{
        {"name", each.name},
        {"bits_per_second", each.bits_per_second},
        {"frames", each.counts.frames},
        {"bytes", each.counts.bytes},
        {"dropped_frames", each.counts.dropped_frames},
        {"dropped_bytes", each.counts.dropped_bytes},
        {"busy_seconds", static_cast<double>(each.counts.busy) / instants_per_second},
    });
  }
  json::Object frames{{"read", read},
                      {"delivered", delivered},
                      {"inside", wiring_.model().frames_inside() + outbox_.frames_waiting()},
                      {"dropped", dropped},
                      {"lost_in_hosts", lost},
                      {"not_taken", not_taken_}};
  for (std::size_t fate = 1; fate < fates; ++fate) frames.emplace_back(fate_names[fate], count_[fate]);
  return json::Object{
      {"event", "statistics"},
      {"seconds", elapsed},
      {"cpu_share", elapsed > 0 ? static_cast<double>(worked) * 1e-9 / elapsed : 0},
      {"lateness_seconds", spread(lateness_)},
      {"lateness_lately_seconds", spread(lateness_lately_)},
      {"held_seconds", spread(held_)},
      {"pause_seconds", spread(pauses_)},
      {"pieces", json::Object{{"read", pieces_read_}, {"written", pieces_written_}}},
      {"frames", std::move(frames)},
      {"taps", std::move(hosts)},
      {"stations", std::move(stations)},
  };
}

}  // namespace crosscut::user_switch
