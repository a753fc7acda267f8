#include "user_switch/wiring.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace crosscut::user_switch {
namespace {

constexpr std::uint64_t flows_kept = 64;  // for each pair of ports
constexpr double bits_per_byte = 8;

}  // namespace

Wiring::Wiring(const networks::Network& network, const SwitchModel& how)
    : network_(network), how_(how), adjacency_(network.graph), model_(how.framing) {}

networks::Lane Wiring::lane_of(Port port) const {
  const auto leaving = adjacency_.leaving(port.host);
  if (port.adapter < 0 || static_cast<std::size_t>(port.adapter) >= leaving.size())
    throw UsageError("host " + network_.graph.name(port.host) + " has no adapter " +
                     std::to_string(port.adapter) + "; it has " + std::to_string(leaving.size()) +
                     ", numbered from 0");
  return leaving[static_cast<std::size_t>(port.adapter)];
}

bool Wiring::shares_directions(networks::Lane lane) const {
  return network_.graph.link(lane).half_duplex || shared_.contains(lane / 2);
}

double Wiring::bits_per_second(networks::Lane lane) const {
  const auto& link = network_.graph.link(lane);
  const bool is_one = shares_directions(lane);
  const auto share = [this](networks::Lane of) {
    const auto found = shares_.find(of);
    return found == shares_.end() ? 1.0 : found->second;
  };
  const double least = is_one ? std::min(share(lane), share(lane ^ 1)) : share(lane);
  return (lane % 2 == 0 || is_one ? link.rate : link.back_rate) * least;
}

double Wiring::bytes_per_second(Port port) const { return bits_per_second(lane_of(port)) / bits_per_byte; }

double Wiring::full_frame_bytes(int mtu) const {
  constexpr int ethernet_header = 14;
  return static_cast<double>(mtu + ethernet_header + how_.framing.added_bytes);
}

PathId Wiring::way(Port source, Port destination, std::uint64_t flow) {
  const auto key = flow % flows_kept;
  // At most 24 bits of host, 5 of adapter and 6 of flow: the caller bounds hosts and adapters.
  const auto number = [](Port port) {
    return static_cast<std::uint64_t>(port.host) << 5 | static_cast<std::uint64_t>(port.adapter);
  };
  const auto ends = (number(source) << 29 | number(destination)) << 6 | key;
  if (const auto found = known_.find(ends); found != known_.end()) return found->second;
  const auto made = path_along(hops_between(source, destination, key));
  known_.emplace(ends, made);
  return made;
}

std::vector<networks::Lane> Wiring::lanes_between(Port source, Port destination, std::uint64_t key) const {
  const networks::Lane out = lane_of(source);
  // A frame on a wire that ends at its receiver needs no routing.
  if (out == (lane_of(destination) ^ 1)) return {out};
  // The source's cable is plugged in at the destination's port.
  if (source == destination) return {out, out ^ 1};
  if (source.host == destination.host)
    throw UsageError("no path leads from an adapter of " + network_.graph.name(source.host) + " to another");
  std::vector<networks::Lane> lanes;
  network_.router->route({.source = source.host,
                          .destination = destination.host,
                          .source_adapter = source.adapter,
                          .destination_adapter = destination.adapter,
                          .key = key},
                         lanes);
  return lanes;
}

Wiring::Place Wiring::place_of(Port port) const {
  const auto found = places_.find(port);
  return found == places_.end() ? Place{port} : found->second;
}

std::vector<Wiring::Hop> Wiring::hops_between(Port source, Port destination, std::uint64_t key) const {
  const auto to = place_of(destination);
  if (!to.is_known)
    throw UsageError("no table knows where the cable of " + network_.graph.name(destination.host) + " is");
  std::vector<Hop> hops;
  for (const auto lane : lanes_between(place_of(source).port, to.port, key)) hops.push_back({lane, lane});
  if (places_.contains(source)) hops.front().cable = lane_of(source);
  if (places_.contains(destination)) hops.back().cable = lane_of(destination) ^ 1;
  return hops;
}

PathId Wiring::path_along(const std::vector<Hop>& hops) {
  const auto& graph = network_.graph;
  std::vector<Step> steps;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    if (i > 0) {
      add_passage(hops[i - 1], hops[i], steps);
    } else {
      // A host's frames wait in the host, where none is lost: the caller reads no more than fits.
      steps.push_back(
          {.station = link_station(hops[0].cable), .queue = queue(Waits::in_host, hops[0].cable, 0, {})});
    }
    auto& step = steps.back();
    step.delay = instant_of(graph.link(hops[i].cable).latency);
    if (i + 1 == hops.size()) break;
    const networks::Vertex next = graph.head(hops[i].lane);
    step.delay +=
        instant_of(graph.is_host(next) ? graph.host(next).forward_latency : graph.switch_of(next).latency);
    step.whole = keeps_whole(next);
  }
  return model_.add_path(steps);
}

void Wiring::check(const CableFault& fault) const {
  const auto& graph = network_.graph;
  if (!fault.place) return;
  for (const auto port : {fault.port, *fault.place}) {
    if (graph.is_host(graph.head(lane_of(port))))
      throw UsageError("the cable of " + graph.name(port.host) +
                       " leads to a host; only one at a switch can be moved");
  }
}

// Records the share of its rate that a cable has left. A wire between hosts may have a fault at both ends.
void Wiring::carry_at_most(networks::Lane lane, double share) {
  auto& carried = shares_.try_emplace(lane, 1).first->second;
  carried = std::min(carried, share);
}

void Wiring::set_faults(std::span<const CableFault> faults) {
  for (const auto& fault : faults) check(fault);
  shares_.clear();
  shared_.clear();
  places_.clear();
  known_.clear();
  for (const auto& fault : faults) {
    const auto out = lane_of(fault.port);
    carry_at_most(out, fault.out_share);
    carry_at_most(out ^ 1, fault.in_share);
    if (fault.half_duplex) shared_.insert(out / 2);
    if (fault.place) places_.emplace(fault.port, Place{*fault.place, fault.is_known});
  }
  const auto lanes = 2 * static_cast<std::int64_t>(network_.graph.edges.size());
  for (const auto& [number, station] : stations_) {
    if (number >= lanes) continue;  // the inside of a switch
    const auto rate = bits_per_second(static_cast<networks::Lane>(number));
    model_.set_rate(station, rate);
    named_[static_cast<std::size_t>(station)].bits_per_second = rate;
  }
}

bool Wiring::keeps_whole(networks::Vertex v) const {
  if (network_.graph.is_host(v) && network_.graph.host(v).forwards == networks::Forwarding::ip) return true;
  return !how_.cut_through;
}

StationId Wiring::link_station(networks::Lane lane) {
  const bool is_one = shares_directions(lane);
  const std::int64_t shared = is_one ? lane & ~1 : lane;
  const auto name = network_.graph.name(network_.graph.tail(lane)) + (is_one ? " <-> " : " -> ") +
                    network_.graph.name(network_.graph.head(lane));
  return station(shared, name, {.bits_per_second = bits_per_second(lane)});
}

StationId Wiring::inside_station(networks::Vertex at, bool is_way_in, const networks::SwitchClass& its) {
  const auto behind_lanes = 2 * static_cast<std::int64_t>(network_.graph.edges.size());
  const bool is_one = its.bounds == networks::Bounds::through;
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

QueueId Wiring::queue(Waits where, std::int32_t of, networks::Lane entered_by, const QueueSpec& spec) {
  const auto [found, is_new] = queues_.try_emplace({where, of, entered_by}, 0);
  if (is_new) found->second = model_.add_queue(spec);
  return found->second;
}

// Adds the steps through the vertex between two lanes and onto the second, with Network::path's capacities.
void Wiring::add_passage(Hop from, Hop to, std::vector<Step>& steps) {
  const auto& graph = network_.graph;
  const networks::Vertex at = graph.head(from.lane);
  if (graph.is_host(at)) {  // forwarded frames take turns with the host's own
    const auto out = link_station(to.cable);
    steps.push_back({.station = out, .queue = queue(Waits::for_inside, out, from.cable, how_.buffer)});
    return;
  }
  // If the switch queues at its inputs, the head of the line waits for the first station inside the switch.
  bool is_first = true;
  const auto waits_at = [&](Waits otherwise, std::int32_t of, networks::Lane entered_by) {
    const bool at_input = std::exchange(is_first, false) && how_.input_queued;
    return at_input ? queue(Waits::at_input, from.cable, 0, how_.buffer)
                    : queue(otherwise, of, entered_by, how_.buffer);
  };
  const auto& its = graph.switch_of(at);
  const auto add_inside = [&](bool is_way_in) {
    const auto within = inside_station(at, is_way_in, its);
    steps.push_back({.station = within, .queue = waits_at(Waits::for_inside, within, from.cable)});
  };
  const bool through = its.bounds == networks::Bounds::through;
  if (its.capacity > 0 && (through || graph.is_host(graph.tail(from.lane)))) add_inside(true);
  if (its.capacity > 0 && !through && graph.is_host(graph.head(to.lane))) add_inside(false);
  steps.push_back({.station = link_station(to.cable), .queue = waits_at(Waits::at_output, to.cable, 0)});
}

std::vector<Wiring::Passed> Wiring::passed() const {
  auto passed = named_;
  for (std::size_t i = 0; i < passed.size(); ++i) passed[i].counts = model_.counts(static_cast<StationId>(i));
  return passed;
}

}  // namespace crosscut::user_switch
