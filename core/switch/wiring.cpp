#include "wiring.hpp"

#include <utility>

#include "error.hpp"

namespace crosscut::frames {
namespace {

constexpr std::uint64_t flows_kept = 64;  // for each pair of ports
constexpr double bits_per_byte = 8;

}  // namespace

Wiring::Wiring(const Network& network, const SwitchModel& how)
    : network_(network), how_(how), adjacency_(network.graph), model_(how.framing) {}

Lane Wiring::lane_of(Port port) const {
  const auto leaving = adjacency_.leaving(port.host);
  if (port.adapter < 0 || static_cast<std::size_t>(port.adapter) >= leaving.size())
    throw UsageError("host " + network_.graph.name(port.host) + " has " + std::to_string(leaving.size()) +
                     " adapters, numbered from 0: there is none with the number " +
                     std::to_string(port.adapter));
  return leaving[static_cast<std::size_t>(port.adapter)];
}

double Wiring::bits_per_second(Lane lane) const {
  const auto& link = network_.graph.link(lane);
  return lane % 2 == 0 || link.half_duplex ? link.rate : link.back_rate;
}

double Wiring::bytes_per_second(Port port) const { return bits_per_second(lane_of(port)) / bits_per_byte; }

double Wiring::full_frame_bytes(int mtu) const {
  constexpr int ethernet_header = 14;
  return static_cast<double>(mtu + ethernet_header + how_.framing.added_bytes);
}

WayId Wiring::way(Port source, Port destination, std::uint64_t flow) {
  const auto key = flow % flows_kept;
  // 24 bits of host, 5 of adapter and 6 of flow at most: the caller bounds hosts and adapters.
  const auto number = [](Port port) {
    return static_cast<std::uint64_t>(port.host) << 5 | static_cast<std::uint64_t>(port.adapter);
  };
  const auto ends = (number(source) << 29 | number(destination)) << 6 | key;
  if (const auto found = known_.find(ends); found != known_.end()) return found->second;
  const auto made = way_along(lanes_between(source, destination, key));
  known_.emplace(ends, made);
  return made;
}

std::vector<Lane> Wiring::lanes_between(Port source, Port destination, std::uint64_t key) const {
  const Lane out = lane_of(source);
  // A frame put on a wire that ends at the host it is for needs no routing.
  if (out == (lane_of(destination) ^ 1)) return {out};
  std::vector<Lane> lanes;
  network_.router->route({.source = source.host,
                          .destination = destination.host,
                          .source_adapter = source.adapter,
                          .destination_adapter = destination.adapter,
                          .key = key},
                         lanes);
  return lanes;
}

WayId Wiring::way_along(const std::vector<Lane>& lanes) {
  const auto& graph = network_.graph;
  std::vector<Step> steps;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (i > 0) {
      add_passage(lanes[i - 1], lanes[i], steps);
    } else {
      // What a host sends waits in the host, each way's flows in a queue of their own, so that what
      // acknowledges one does not wait behind all of another. Nothing is lost there (the caller reads no more
      // than fits).
      steps.push_back({.station = link_station(lanes[0]), .queue = model_.add_queue({})});
    }
    auto& step = steps.back();
    step.delay = instant_of(graph.link(lanes[i]).latency);
    if (i + 1 == lanes.size()) break;
    const Vertex next = graph.head(lanes[i]);
    step.delay +=
        instant_of(graph.is_host(next) ? graph.host(next).forward_latency : graph.switch_of(next).latency);
    step.whole = keeps_whole(next);
  }
  return model_.add_way(steps);
}

bool Wiring::keeps_whole(Vertex v) const {
  if (network_.graph.is_host(v) && network_.graph.host(v).forwards == Forwarding::ip) return true;
  return !how_.cut_through;
}

StationId Wiring::link_station(Lane lane) {
  const auto& link = network_.graph.link(lane);
  const std::int64_t shared = link.half_duplex ? lane & ~1 : lane;
  const auto name = network_.graph.name(network_.graph.tail(lane)) + (link.half_duplex ? " <-> " : " -> ") +
                    network_.graph.name(network_.graph.head(lane));
  return station(shared, name, {.bits_per_second = bits_per_second(lane)});
}

StationId Wiring::inside_station(Vertex at, bool is_way_in, const SwitchClass& its) {
  const auto behind_lanes = 2 * static_cast<std::int64_t>(network_.graph.edges.size());
  const bool is_one = its.bounds == Bounds::through;
  const auto name = network_.graph.name(at) + (is_one ? "" : is_way_in ? " from its hosts" : " to its hosts");
  return station(behind_lanes + 2 * std::int64_t{at} + (is_way_in ? 0 : 1), name,
                 {.bits_per_second = its.capacity, .is_internal = true});
}

StationId Wiring::station(std::int64_t number, const std::string& name, const StationSpec& spec) {
  const auto [found, is_new] = stations_.try_emplace(number, 0);
  if (is_new) {
    found->second = model_.add_station(spec);
    named_.push_back({name, {}, spec.bits_per_second});
  }
  return found->second;
}

QueueId Wiring::queue(Waits where, std::int32_t of, Lane entered_by, const QueueSpec& spec) {
  const auto [found, is_new] = queues_.try_emplace({where, of, entered_by}, 0);
  if (is_new) found->second = model_.add_queue(spec);
  return found->second;
}

// Through the vertex between two lanes, and onto the second. The same capacities as Network::path.
void Wiring::add_passage(Lane from, Lane to, std::vector<Step>& steps) {
  const auto& graph = network_.graph;
  const Vertex at = graph.head(from);
  if (graph.is_host(at)) {  // which forwards: in turn with the host's own frames
    const auto out = link_station(to);
    steps.push_back({.station = out, .queue = queue(Waits::for_inside, out, from, how_.buffer)});
    return;
  }
  // Where the switch queues at its inputs, the first station within it is what the head of the line waits
  // for.
  bool is_first = true;
  const auto waits_at = [&](Waits otherwise, std::int32_t of, Lane entered_by) {
    const bool at_input = std::exchange(is_first, false) && how_.input_queued;
    return at_input ? queue(Waits::at_input, from, 0, how_.buffer)
                    : queue(otherwise, of, entered_by, how_.buffer);
  };
  const auto& its = graph.switch_of(at);
  const auto add_inside = [&](bool is_way_in) {
    const auto within = inside_station(at, is_way_in, its);
    steps.push_back({.station = within, .queue = waits_at(Waits::for_inside, within, from)});
  };
  const bool through = its.bounds == Bounds::through;
  if (its.capacity > 0 && (through || graph.is_host(graph.tail(from)))) add_inside(true);
  if (its.capacity > 0 && !through && graph.is_host(graph.head(to))) add_inside(false);
  steps.push_back({.station = link_station(to), .queue = waits_at(Waits::at_output, to, 0)});
}

std::vector<Wiring::Passed> Wiring::passed() const {
  auto passed = named_;
  for (std::size_t i = 0; i < passed.size(); ++i) passed[i].counts = model_.counts(static_cast<StationId>(i));
  return passed;
}

}  // namespace crosscut::frames
