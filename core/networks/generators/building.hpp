// Helpers that generators share: reading parameters, adding classes, switches and links, counting adapters,
// and choosing among equal paths.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/words.hpp"
#include "networks/generator.hpp"

namespace crosscut::networks::generators {

inline program::Parameter count_parameter(std::string_view name, std::string_view initial,
                                          std::string_view help, double minimum = 1, double maximum = 1e9) {
  return {.name = name,
          .kind = program::Parameter::Kind::integer,
          .initial = initial,
          .help = help,
          .choices = {},
          .minimum = minimum,
          .maximum = maximum};
}

// A rate in bits per second. Without a default it may be omitted (rate_or), except `always_written`.
inline program::Parameter rate_parameter(std::string_view name, std::string_view initial,
                                         std::string_view help) {
  return {.name = name,
          .kind = program::Parameter::Kind::rate,
          .unit = "bit/s",
          .initial = initial,
          .help = help,
          .choices = {},
          .minimum = 1};
}

// The required parameter of most generators whose hosts are on switches.
inline program::Parameter host_rate_parameter() {
  return rate_parameter(always_written, "", "rate of each host's link, in each direction");
}

inline program::Parameter list_parameter(std::string_view name, std::string_view initial,
                                         std::string_view help) {
  return {
      .name = name, .kind = program::Parameter::Kind::text, .initial = initial, .help = help, .choices = {}};
}

inline std::int32_t count(const program::Parameters& parameters, std::string_view name) {
  return static_cast<std::int32_t>(parameters.integer(name));  // below 2^31 by count_parameter's maximum
}

inline double rate_or(const program::Parameters& parameters, std::string_view name, double otherwise) {
  return parameters.text(name).empty() ? otherwise : parameters.real(name);
}

inline constexpr std::size_t numbers_max = 24;

// Reads "8x8x4" or "8,8,4": at most numbers_max numbers, each within 1 .. 10^9. Throws UsageError.
inline std::vector<std::int32_t> numbers(const program::Parameters& parameters, std::string_view name) {
  std::string text = parameters.text(name);
  std::vector<std::int32_t> values;
  if (text.empty()) return values;
  std::ranges::replace(text, 'x', ',');
  for (std::string_view word : split(text, ',')) {
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    const std::int64_t value = program::parse_integer(word);
    if (value < 1 || value > 1'000'000'000)
      throw UsageError(std::string(name) + ": " + shown(word) + " must be from 1 to 1000000000");
    if (values.size() == numbers_max)
      throw UsageError(std::string(name) + " has more than " + std::to_string(numbers_max) + " numbers");
    values.push_back(static_cast<std::int32_t>(value));
  }
  return values;
}

// Adds a class. The file's [switch.NAME] and [link.NAME] refer to classes by name, for prices and latencies.
inline std::uint16_t add_switch_class(Graph& graph, std::string name, double capacity = 0,
                                      Bounds bounds = Bounds::host_facing) {
  graph.switch_classes.push_back({.name = std::move(name), .capacity = capacity, .bounds = bounds});
  return static_cast<std::uint16_t>(graph.switch_classes.size() - 1);
}

inline constexpr int no_cables = 0;  // wiring inside one box: no cables or ports to count or pay for

// `rate`: bits/s of all `cables` together, the same in both directions.
inline std::uint16_t add_link_class(Graph& graph, std::string name, double rate, int cables = 1,
                                    bool half_duplex = false) {
  graph.link_classes.push_back({.name = std::move(name),
                                .rate = rate,
                                .back_rate = rate,
                                .cables = cables,
                                .half_duplex = half_duplex});
  return static_cast<std::uint16_t>(graph.link_classes.size() - 1);
}

// Call it last: makes one class of hosts for each number of links that hosts have. Throws UsageError if the
// file gives another number of adapters.
inline void count_adapters(Graph& graph) {
  std::vector<std::int32_t> links(static_cast<std::size_t>(graph.hosts));
  for (const Edge& edge : graph.edges)
    for (const Vertex end : {edge.a, edge.b})
      if (graph.is_host(end)) ++links[static_cast<std::size_t>(end)];
  std::vector<std::int32_t> kinds = links;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  const HostClass model = graph.host_classes.front();
  if (model.adapters > 1 && kinds.back() != model.adapters)
    throw UsageError("[host] adapters = " + std::to_string(model.adapters) +
                     " does not fit: a host of this network has " + std::to_string(kinds.back()) +
                     " links; leave adapters out");
  graph.host_classes.clear();
  for (const std::int32_t adapters : kinds) {
    HostClass made = model;
    made.adapters = adapters;
    if (kinds.size() > 1) made.name += "-" + std::to_string(adapters) + "-links";
    graph.host_classes.push_back(std::move(made));
  }
  graph.host_class.clear();
  if (kinds.size() == 1) return;
  for (const std::int32_t adapters : links)
    graph.host_class.push_back(
        static_cast<std::uint16_t>(std::ranges::lower_bound(kinds, adapters) - kinds.begin()));
}

// Puts the hosts into groups of `size`. Call it before adding switches, which then have groups too.
inline void group_hosts(Graph& graph, std::string word, std::int64_t size) {
  graph.group_word = std::move(word);
  for (Vertex host = 0; host < graph.hosts; ++host)
    graph.group.push_back(static_cast<std::int32_t>(host / size));
}

// Adds the next switch. Each level is a class of its own, in the order of add_switch_class.
inline void add_switch(Graph& graph, std::string name, std::int32_t group = -1, std::int8_t level = 0) {
  ++graph.switches;
  graph.switch_names.push_back(std::move(name));
  graph.switch_class.push_back(static_cast<std::uint16_t>(level));
  graph.level.push_back(level);
  if (!graph.group.empty()) graph.group.push_back(group);
}

// Returns the name of a switch of a grid, with its coordinates: "switch1.0.3".
template <typename Dimensions>
std::string grid_name(const Dimensions& dimensions, std::int32_t at) {
  std::string text;
  for (const auto& dimension : dimensions)
    text += (text.empty() ? "switch" : ".") + std::to_string(at / dimension.stride % dimension.size);
  return text;
}

// Wires all hosts to switches of `hosts_per_switch` each, by one link per host: edges 0 .. hosts - 1.
inline void wire_hosts(Graph& graph, std::int32_t hosts_per_switch, std::uint16_t link_class) {
  for (Vertex host = 0; host < graph.hosts; ++host)
    graph.edges.push_back({host, graph.hosts + host / hosts_per_switch, link_class});
}

// Chooses among equal paths for one flow, port by port.
class Chooser {
 public:
  Chooser(const RouteRequest& flow, Spread spread, std::uint64_t seed)
      : by_destination_(spread == Spread::destination_modulo),
        destination_(static_cast<std::uint32_t>(flow.destination)),
        stream_(
            by_destination_
                ? Random(0)
                : random_stream(seed, flow.key,
                                static_cast<std::uint64_t>(static_cast<std::uint32_t>(flow.source)) << 32 |
                                    static_cast<std::uint32_t>(flow.destination))) {}

  // Returns a number below `ways`. `divisor`: how many combinations the earlier choices had. By destination,
  // it makes this choice distinguish destinations that agree in the earlier ones.
  std::uint32_t choose(std::uint32_t ways, std::uint32_t divisor = 1) {
    if (ways <= 1) return 0;
    if (by_destination_) return destination_ / divisor % ways;
    // The upper half times `ways` avoids a division; it is uniform to one part in 2^32 / ways.
    return static_cast<std::uint32_t>((stream_.next() >> 32) * ways >> 32);
  }

 private:
  bool by_destination_;
  std::uint32_t destination_;
  Random stream_;
};

// Base of routers that compute paths from the order of vertices and edges, without tables.
template <typename Numbers>
class ArithmeticRouter : public Router {
 public:
  ArithmeticRouter(Numbers numbers, const Network& network)
      : numbers_(std::move(numbers)), spread_(network.spread), seed_(network.seed) {}

 protected:
  Chooser chooser(const RouteRequest& request) const { return {request, spread_, seed_}; }

  Numbers numbers_;
  Spread spread_;
  std::uint64_t seed_;
};

inline Lane lane_up(std::int64_t edge) { return static_cast<Lane>(2 * edge); }        // a -> b
inline Lane lane_down(std::int64_t edge) { return static_cast<Lane>(2 * edge + 1); }  // b -> a

// Returns the index of the pair i < j among all pairs of 0 .. n - 1: (0,1) (0,2) .. (1,2) ..
inline std::int64_t pair_index(std::int64_t i, std::int64_t j, std::int64_t n) {
  return i * (2 * n - i - 1) / 2 + (j - i - 1);
}

}  // namespace crosscut::networks::generators
