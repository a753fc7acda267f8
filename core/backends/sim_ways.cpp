#include "backends/sim_ways.hpp"

#include "base/random.hpp"

namespace crosscut::backends {
namespace {

// As the ports of a connection do: the same for all its messages, another for each pair of ranks and channel.
std::uint64_t connection_key(const Transfer& transfer) {
  const auto ends = static_cast<std::uint64_t>(static_cast<std::uint32_t>(transfer.source)) << 32 |
                    static_cast<std::uint32_t>(transfer.destination);
  const auto lane = static_cast<std::uint64_t>(transfer.channel) << 8 | transfer.rail;
  return Random(ends).next() ^ Random(lane + 1).next();
}

}  // namespace

double NetworkWays::path(const Transfer& transfer, std::vector<networks::CapacityIndex>& uses) const {
  return network_.path({.source = host(transfer.source),
                        .destination = host(transfer.destination),
                        .source_adapter = adapter(transfer.source, transfer.rail),
                        .destination_adapter = adapter(transfer.destination, transfer.rail),
                        .key = connection_key(transfer)},
                       uses);
}

}  // namespace crosscut::backends
