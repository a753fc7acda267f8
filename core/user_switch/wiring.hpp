// A network as stations, queues and ways of the frame model.
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

// When frames are lost at a host's adapter.
struct Outage {
  bool in = false, out = false;       // what comes to the host, what leaves it
  bool shows = false;                 // the host sees its carrier go meanwhile
  std::int64_t lasts = 0, every = 0;  // nanoseconds, from one beginning to the next; 0: all the time
  bool is_any() const { return in || out; }
  bool is_now(std::int64_t since_began) const {
    return is_any() && (every == 0 || since_began % every < lasts);
  }
  friend bool operator==(const Outage&, const Outage&) = default;
};

// What is wrong with a cable, as whoever runs the emulation has it.
struct CableFault {
  Port port;
  double in_share = 1, out_share = 1;  // of its rate, what is left
  bool half_duplex = false;
  std::optional<Port> place{};  // its cable is at that one's switch
  bool is_known = false;        // the tables of all switches know that; else nobody finds it
  Outage outage{};
};

struct SwitchModel {
  bool cut_through = false;
  bool input_queued = false;  // one queue a port, where frames come in; else one for each way out
  QueueSpec buffer{.bytes_max = std::int64_t{128} * 1024};
  Framing framing{};
};

// Ways are made when a frame first needs them, and kept. The network must outlive this.
class Wiring {
 public:
  Wiring(const networks::Network& network, const SwitchModel& how);

  FrameModel& model() { return model_; }
  const FrameModel& model() const { return model_; }
  // `flow` spreads over equal ways; only so many of its bits count that all ways can be kept. Throws
  // UsageError where there is no way.
  PathId way(Port source, Port destination, std::uint64_t flow);
  // These, in place of those before; outages are no matter of the wiring. Frames that are inside go on as
  // they began. Throws UsageError, and changes nothing, where a cable cannot be so.
  void set_faults(std::span<const CableFault> faults);
  // Says of the ways made so far what has passed, and what it is called.
  struct Passed {
    std::string name;
    StationCounts counts;
    double bits_per_second = 0;
  };
  std::vector<Passed> passed() const;
  networks::Lane lane_of(Port port) const;
  // Bytes that pass the adapter's link, out of the host, in that time.
  double bytes_per_second(Port port) const;
  // On the wire, of the longest frame.
  double full_frame_bytes(int mtu) const;

 private:
  // What a queue is for: a host's link, a way out of a switch, a way in, or a switch's inside (for each
  // way in, so that they take turns).
  enum class Waits : std::uint8_t { in_host, at_output, at_input, for_inside };

  // A cable that is in another's port leads where that one did.
  struct Hop {
    networks::Lane lane = 0;   // of the network's description: from where to where
    networks::Lane cable = 0;  // that is there
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
  std::unordered_map<std::int64_t, StationId> stations_;  // by lane; behind the lanes, what is in switches
  std::vector<Passed> named_;                             // [station]
  std::map<std::tuple<Waits, std::int32_t, networks::Lane>, QueueId> queues_;
  std::unordered_map<std::uint64_t, PathId> known_;  // by ends and flow
  std::map<networks::Lane, double> shares_;          // of its rate that a cable carries; else all of it
  std::set<std::int32_t> shared_;                    // edges whose directions share one rate, by a fault
  std::map<Port, Place> places_;                     // of cables that are not in their own
};

}  // namespace crosscut::user_switch
