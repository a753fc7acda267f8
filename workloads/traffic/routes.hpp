// Fastest routes on empty roads, from everywhere to each zone; agents plan by them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "traffic/road_network.hpp"

namespace crosscut::traffic {

class Routes {
 public:
  Routes(const RoadNetwork& roads, std::span<const Index> zones)
      : roads_(roads), next_(zones.size() * roads.junctions.size(), nowhere) {
    for (const Link& link : roads.links)
      longest_link_steps_ = std::max(longest_link_steps_, link.free_flow_steps());
    for (std::size_t zone = 0; zone < zones.size(); ++zone) find(zone, zones[zone]);
  }

  // Returns the link to take from a junction to the zone; `none` if the junction is there already. Among
  // equally fast routes, takes the link with the lower number. Throws std::logic_error if there is no route.
  Index next_link(Index junction, Index zone) const {
    const std::uint8_t out = next_[zone * roads_.junctions.size() + junction];
    if (out == arrived) return none;
    if (out == nowhere)
      throw std::logic_error("no road leads from junction " + std::to_string(junction) + " to zone " +
                             std::to_string(zone));
    return roads_.out_of.of(junction)[out];
  }

  // Appends the links from `origin` to the zone, none if it is there. Chooses and throws like `next_link`.
  void append_plan(Index origin, Index zone, std::vector<Index>& plan) const {
    for (Index link = next_link(origin, zone); link != none; link = next_link(roads_.links[link].to, zone))
      plan.push_back(link);
  }

  // Returns the number of links in the longest plan.
  int longest() const { return longest_; }

 private:
  static constexpr std::uint8_t arrived = 255;
  static constexpr std::uint8_t nowhere = 254;
  static constexpr int unreached = std::numeric_limits<int>::max();

  struct Times {
    std::vector<int> steps;            // from every junction to the destination
    std::vector<Index> nearest_first;  // junctions from which it can be reached
  };

  // Dial's algorithm: times are small whole numbers, so a circle of buckets serves as the queue (Dial,
  // Algorithm 360, Communications of the ACM 12, 1969).
  Times times_to(Index destination) const {
    Times times{.steps = std::vector<int>(roads_.junctions.size(), unreached), .nearest_first = {}};
    std::vector<std::vector<Index>> buckets(static_cast<std::size_t>(longest_link_steps_) + 1);
    times.steps[destination] = 0;
    buckets[0].push_back(destination);
    std::size_t queued = 1;
    for (std::size_t now = 0; queued > 0; ++now) {
      std::vector<Index> due;
      due.swap(buckets[now % buckets.size()]);
      queued -= due.size();
      for (const Index junction : due) {
        // It was reached sooner after it was put here.
        if (std::cmp_not_equal(times.steps[junction], now)) continue;
        times.nearest_first.push_back(junction);
        for (const Index number : roads_.into.of(junction)) {
          const Link& link = roads_.links[number];
          const int found = static_cast<int>(now) + link.free_flow_steps();
          if (found >= times.steps[link.from]) continue;
          times.steps[link.from] = found;
          buckets[static_cast<std::size_t>(found) % buckets.size()].push_back(link.from);
          ++queued;
        }
      }
    }
    return times;
  }

  void find(std::size_t zone, Index destination) {
    const Times times = times_to(destination);
    const std::span next = std::span(next_).subspan(zone * times.steps.size(), times.steps.size());
    std::vector<int> links_left(times.steps.size());
    for (const Index junction : times.nearest_first) {
      const auto out = roads_.out_of.of(junction);
      const auto found = std::ranges::find_if(out, [&](Index number) {
        const Link& link = roads_.links[number];
        const int rest = times.steps[link.to];
        return rest != unreached && rest + link.free_flow_steps() == times.steps[junction];
      });
      if (junction == destination || found == out.end()) continue;
      next[junction] = static_cast<std::uint8_t>(found - out.begin());
      links_left[junction] = links_left[roads_.links[*found].to] + 1;
      longest_ = std::max(longest_, links_left[junction]);
    }
    next[destination] = arrived;
  }

  const RoadNetwork& roads_;
  // By zone and junction: index of the next link among those that leave the junction.
  std::vector<std::uint8_t> next_;
  int longest_link_steps_ = 1;
  int longest_ = 0;
};

}  // namespace crosscut::traffic
