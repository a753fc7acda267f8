// A cluster network: hosts, switches, links, their capacities, routing and cost.
//
// Made from a TOML file (description.cpp), explicitly or by a generator (generator.hpp). The same Network
// drives the simulator, yields diameter, bisection and price (figures.hpp), and is what the lab builds.
//
// Rates are bits per second here, as in the files; `capacities()` are payload bytes per second, as in runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosscut::networks {

// Hosts are 0 .. hosts - 1, switches follow.
using Vertex = std::int32_t;
// One direction of an edge: 2 * edge for a -> b, 2 * edge + 1 for b -> a.
using Lane = std::int32_t;
// Index into Network::capacities().
using CapacityIndex = std::int32_t;

struct Price {
  double amount = 0;
  std::string currency{};  // "USD"; empty: no price is known
  auto operator<=>(const Price&) const = default;
};

// hardware: the adapter passes messages on (SCI).
enum class Forwarding : std::uint8_t { no, ip, hardware };

inline constexpr std::array<std::string_view, 3> forwarding_words{"no", "ip", "hardware"};

struct HostClass {
  std::string name = "host";
  int processors = 1;
  int ranks = 1;     // ranks that a run starts on each host by default
  int adapters = 1;  // edges of this host, in order of the edges; a rank uses one of them (Network::adapter)
  double memory_rate = 0;     // bits/s that all routes within the host share; 0: no bound
  double memory_latency = 0;  // seconds
  // Processor time of the host for each message, seconds (o of LogP); messages are handled one after another.
  double send_overhead = 0, receive_overhead = 0;
  Forwarding forwards = Forwarding::no;
  double forward_latency = 0;  // seconds, each time a message passes through this host
  Price price{}, adapter_price{};
};

// The traffic that a switch's own capacity bounds.
enum class Bounds : std::uint8_t {
  host_facing,  // traffic from its hosts and traffic to them, separately (an ASIC)
  through,      // every message once, whatever its ports (a backplane, a shared medium)
};

inline constexpr std::array<std::string_view, 2> bounds_words{"host-facing", "through"};

struct SwitchClass {
  std::string name = "switch";
  double capacity = 0;  // bits/s; 0: only its links bound it
  Bounds bounds = Bounds::host_facing;
  double latency = 0;  // seconds, each time a message passes
  int ports = 0;       // 0: as many as are in use
  Price price{}, port_price{};
};

struct LinkClass {
  std::string name = "link";
  double rate = 0, back_rate = 0;  // bits/s from a to b and from b to a
  double latency = 0;              // seconds
  int cables = 1;                  // in parallel, used as one (rates are totals); counted and priced
  bool half_duplex = false;        // both directions share `rate`
  bool one_way = false;            // from a to b only; back_rate is 0
  Price price{};                   // price of one cable
  auto operator<=>(const LinkClass&) const = default;
};

struct Edge {
  Vertex a = 0, b = 0;
  std::uint16_t link_class = 0;
};

struct Graph {
  Vertex hosts = 0, switches = 0;
  std::vector<HostClass> host_classes{HostClass{}};
  std::vector<SwitchClass> switch_classes;
  std::vector<LinkClass> link_classes;
  std::vector<std::uint16_t> host_class;    // [host]; empty: all 0
  std::vector<std::uint16_t> switch_class;  // [switch]; empty: all 0
  std::vector<Edge> edges;                  // parallel edges are allowed: flows are spread over them
  // Names: the file's, or generated ones, "n0012" for hosts; the generator names switches ("leaf3",
  // "module2.asic1").
  std::vector<std::string> host_names;  // [host]; empty: generated
  std::vector<std::string> switch_names;
  // For drawings and findings: the unit that a vertex belongs to (pod, module, meta-node), from 0; empty:
  // none.
  std::vector<std::int32_t> group;  // [vertex]
  std::vector<std::int8_t> level;   // [switch]; 0: hosts are attached to it
  std::string group_word;           // "module", "pod"

  bool is_host(Vertex v) const { return v < hosts; }
  Vertex vertices() const { return hosts + switches; }
  const HostClass& host(Vertex v) const {
    return host_classes[host_class.empty() ? 0 : host_class[static_cast<std::size_t>(v)]];
  }
  const SwitchClass& switch_of(Vertex v) const {
    return switch_classes[switch_class.empty() ? 0 : switch_class[static_cast<std::size_t>(v - hosts)]];
  }
  const LinkClass& link(Lane lane) const {
    return link_classes[edges[static_cast<std::size_t>(lane / 2)].link_class];
  }
  Vertex tail(Lane lane) const {
    const auto& edge = edges[static_cast<std::size_t>(lane / 2)];
    return lane % 2 == 0 ? edge.a : edge.b;
  }
  Vertex head(Lane lane) const {
    const auto& edge = edges[static_cast<std::size_t>(lane / 2)];
    return lane % 2 == 0 ? edge.b : edge.a;
  }
  std::string name(Vertex v) const;
};

// Returns the number with at least `digits` digits, padded with zeros.
std::string padded(std::int64_t value, std::size_t digits);

// The flow whose route is wanted. Flows that differ only in `key` may take different routes.
struct RouteRequest {
  Vertex source = 0, destination = 0;                 // two different hosts
  int source_adapter = -1, destination_adapter = -1;  // -1: chosen by the routing
  // Identifies the flow (ports, channel); hashed with the network's seed to choose among equal paths.
  std::uint64_t key = 0;
};

// Finds routes. Immutable; several threads may call it.
class Router {
 public:
  virtual ~Router() = default;
  // Appends the lanes from source to destination; each begins where the previous one ends.
  virtual void route(const RouteRequest& request, std::vector<Lane>& lanes) const = 0;
};

// The part of the file's [routing] table that generators must know: how flows spread over equal paths.
enum class Spread : std::uint8_t {
  ecmp,                // by a hash of (source, destination, key, seed)
  destination_modulo,  // by the destination's number, as in D-mod-k
};

struct Protocol {
  std::string name = "raw";
  // Share of the link's rate that is payload: (mtu - headers) / (mtu + framing), or as given.
  double efficiency = 1;
  int mtu = 0, headers = 0, framing = 0;  // bytes; mtu 0: `efficiency` was given as such
  std::string source;
};

// Figures that a generator knows in closed form. All others are counted or computed on the graph
// (figures.hpp).
struct ClosedForms {
  std::optional<double> bisection;  // bits/s in each direction across the worst cut into halves
  std::string bisection_formula;    // as text, with its source
  // Further figures of this kind of network, such as Salmon's for meta-nodes and trees: name, formula, value.
  struct Figure {
    std::string name, formula;
    double value = 0;
  };
  std::vector<Figure> further;
  // True if all hosts are equivalent (torus, hypercube, full fat tree): each sees the same distances.
  bool hosts_alike = false;
};

class Network {
 public:
  std::string name, title, source, file;  // file: path it was read from
  std::string kind;                       // the generator's, or "explicit"
  Graph graph;
  std::unique_ptr<Router> router;
  Protocol protocol;
  ClosedForms forms;
  Spread spread = Spread::ecmp;
  std::uint64_t seed = 1;  // seed of the hash

  // Numbers the capacities; call after graph and protocol are set. Makes a router of shortest paths if there
  // is none. Throws UsageError if there is no host, a rate is not above 0, or there are too many links.
  void finish();

  // Returns payload bytes per second, [CapacityIndex]: of lanes, then of switches, then of hosts' memories.
  // Infinity: no bound.
  std::span<const double> capacities() const { return capacities_; }
  // Returns a name for people: "leaf3 -> root", "module2.asic1 from its hosts", "memory of n0012".
  std::string capacity_name(CapacityIndex index) const;

  // Appends the capacities that a message's bytes pass. Returns its latency in seconds (links, switches,
  // forwarding hosts; without the hosts' overheads). Source and destination may be the same host.
  double path(const RouteRequest& request, std::vector<CapacityIndex>& uses) const;

  // Returns the adapter of a rank's interface `rail`. Ranks are placed by blocks: rank r on host r /
  // per_host. Two ranks share one adapter; eight ranks with eight adapters have one each; one rank with two
  // has both as rails.
  int adapter(Vertex host, int rank_on_host, int ranks_on_host, int rail) const;
  // Returns the most rails that every rank of every host can have. Where a host forwards, its tables choose
  // the adapter.
  int rails(int ranks_on_host) const;

 private:
  // Contribution of a lane to a path, from its link and the vertex at its head. Few distinct steps exist: a
  // million hosts have six million lanes, but hardly more steps than classes of links and switches. So a lane
  // takes two bytes of memory instead of an edge, a vertex and their classes.
  struct Step {
    double link_latency = 0, head_latency = 0;  // seconds
    CapacityIndex direction = ~0;  // mask: both directions of a half-duplex link are one capacity
  };
  void number_steps();
  double path_by_steps(std::span<const Lane> lanes, std::vector<CapacityIndex>& uses) const;

  std::vector<Step> steps_;
  // [lane]; empty: switches have capacities of their own, or there are too many steps.
  std::vector<std::uint16_t> step_of_;
  std::vector<double> capacities_;
  std::vector<std::pair<CapacityIndex, CapacityIndex>> switch_capacity_;  // [switch]; in, out; -1: none
  std::vector<CapacityIndex> memory_capacity_;                            // [host]; empty: none
  std::vector<Vertex> capacity_owner_;  // owner of each capacity after the lanes
};

// Reads a network from a file or the catalogue. Throws UsageError that names every mistake with file and
// line. The network has at most `vertices_max` hosts and switches, whatever the file requests. `spread`
// overrides the file: forwarding databases know only a message's destination.
std::unique_ptr<Network> read_network(const std::string& path, std::int64_t vertices_max = 4'000'000,
                                      std::optional<Spread> spread = std::nullopt);
// Reads a network from text; `path` is used in messages only.
std::unique_ptr<Network> parse_network(std::string_view text, const std::string& path,
                                       std::int64_t vertices_max = 4'000'000,
                                       std::optional<Spread> spread = std::nullopt);

}  // namespace crosscut::networks
