#include "backends/sim/paths.hpp"

#include "base/random.hpp"

namespace crosscut::backends::sim {
namespace {

// As the ports of a connection do: the same for all its messages, another for each pair of ranks and channel.
std::uint64_t connection_key(const Route& route) {
  const auto ends = static_cast<std::uint64_t>(static_cast<std::uint32_t>(route.source)) << 32 |
                    static_cast<std::uint32_t>(route.destination);
  const auto lane = static_cast<std::uint64_t>(route.channel) << 8 | route.rail;
  return Random(ends).next() ^ Random(lane + 1).next();
}

}  // namespace

double NetworkPaths::path(const Route& route, std::vector<networks::CapacityIndex>& uses) const {
  return network_.path({.source = host(route.source),
                        .destination = host(route.destination),
                        .source_adapter = adapter(route.source, route.rail),
                        .destination_adapter = adapter(route.destination, route.rail),
                        .key = connection_key(route)},
                       uses);
}

}  // namespace crosscut::backends::sim
