// A network, built from the stations, queues and paths of the frame model.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "networks/network.hpp"
#include "networks/routers.hpp"
#include "user_switch/frame_model.hpp"

namespace crosscut::user_switch {

// An adapter of a host.
struct Port {
  networks::Vertex host = 0;
  int adapter = 0;
  friend auto operator<=>(const Port&, const Port&) = default;
};

// When a host's adapter loses frames.
struct Outage {
  bool in = false, out = false;       // frames to the host, frames from the host
  bool shows = false;                 // the host sees its carrier go down meanwhile
  std::int64_t lasts = 0, every = 0;  // nanoseconds; every: period; 0: permanent
  bool is_any() const { return in || out; }
  bool is_now(std::int64_t since_began) const {
    return is_any() && (every == 0 || since_began % every < lasts);
  }
  friend bool operator==(const Outage&, const Outage&) = default;
};

// A fault of a cable, as planted by the user of the emulation.
struct CableFault {
  Port port;
  double in_share = 1, out_share = 1;  // share of its rate that is left
  bool half_duplex = false;
  std::optional<Port> place{};  // its cable is plugged in at that port's switch
  bool is_known = false;        // all switches' tables know that; otherwise frames do not find it
  Outage outage{};
};

struct SwitchModel {
  bool cut_through = false;
  bool input_queued = false;  // one queue per input port; otherwise one per output
  QueueSpec buffer{.bytes_max = std::int64_t{128} * 1024};
  Framing framing{};
};

// Makes paths when a frame first needs them, and keeps them. The network must outlive this.
class Wiring {
 public:
  Wiring(const networks::Network& network, const SwitchModel& how);

  FrameModel& model() { return model_; }
  const FrameModel& model() const { return model_; }
  // Returns a path. `flow` selects among equal paths; only its low bits count, so that all paths can be kept.
  // Throws UsageError if there is no path.
  PathId way(Port source, Port destination, std::uint64_t flow);
  // Replaces all faults but ignores outages. Frames already inside continue as they began. Throws UsageError
  // and changes nothing if a cable cannot have such a fault.
  void set_faults(std::span<const CableFault> faults);
  // Traffic so far at each station of the paths made so far, and the station's name.
  struct Passed {
    std::string name;
    StationCounts counts;
    double bits_per_second = 0;
  };
  std::vector<Passed> passed() const;
  networks::Lane lane_of(Port port) const;
  // Returns the bytes per second of the adapter's link out of the host.
  double bytes_per_second(Port port) const;
  // Returns the bytes of the longest frame on the wire.
  double full_frame_bytes(int mtu) const;

 private:
  // What a queue is for: a host's link, an output of a switch, an input, or the inside of a switch (one per
  // input, so that inputs take turns).
  enum class Waits : std::uint8_t { in_host, at_output, at_input, for_inside };

  // A cable plugged into another's port leads where that port's cable did.
  struct Hop {
    networks::Lane lane = 0;   // in the network's description: from where to where
    networks::Lane cable = 0;  // the cable that is there
  };
  struct Place {
    Port port;
    bool is_known = true;
  };

  Place place_of(Port port) const;
  void check(const CableFault& fault) const;
  void carry_at_most(networks::Lane lane, double share);
  bool shares_directions(networks::Lane lane) const;
  StationId link_station(networks::Lane lane);
  StationId inside_station(networks::Vertex at, bool is_way_in, const networks::SwitchClass& its);
  StationId station(std::int64_t number, const std::string& name, const StationSpec& spec);
  QueueId queue(Waits where, std::int32_t of, networks::Lane entered_by, const QueueSpec& spec);
  std::vector<networks::Lane> lanes_between(Port source, Port destination, std::uint64_t key) const;
  std::vector<Hop> hops_between(Port source, Port destination, std::uint64_t key) const;
  PathId path_along(const std::vector<Hop>& hops);
  void add_passage(Hop from, Hop to, std::vector<Step>& steps);
  bool keeps_whole(networks::Vertex v) const;
  double bits_per_second(networks::Lane lane) const;

  const networks::Network& network_;
  SwitchModel how_;
  networks::Adjacency adjacency_;
  FrameModel model_;
  std::unordered_map<std::int64_t, StationId> stations_;  // by lane; numbers above the lanes: inside switches
  std::vector<Passed> named_;                             // [station]
  std::map<std::tuple<Waits, std::int32_t, networks::Lane>, QueueId> queues_;
  std::unordered_map<std::uint64_t, PathId> known_;  // by ends and flow
  // Share of its rate that a cable carries; absent: all of it.
  std::map<networks::Lane, double> shares_;
  std::set<std::int32_t> shared_;  // edges whose directions share one rate, by a fault
  std::map<Port, Place> places_;   // of cables that are not in their own port
};

}  // namespace crosscut::user_switch
