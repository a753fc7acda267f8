#include "user_switch/port_names.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::user_switch {
namespace {

constexpr int adapters_max = 32;

int adapter_of(std::int64_t number) {
  if (number < 0 || number >= adapters_max)
    throw UsageError("adapter " + std::to_string(number) + ": from 0 to " + std::to_string(adapters_max - 1));
  return static_cast<int>(number);
}

}  // namespace

PortNames::PortNames(const networks::Network& network, const Wiring& wiring)
    : network_(network), wiring_(wiring) {
  for (networks::Vertex host = 0; host < network.graph.hosts; ++host)
    hosts_.emplace(network.graph.name(host), host);
}

networks::Vertex PortNames::host(const json::Value& named) const {
  if (named.is_integer()) {
    if (named.integer() < 0 || named.integer() >= network_.graph.hosts)
      throw UsageError("host " + std::to_string(named.integer()) +
                       ": the network's hosts are numbered 0 to " + std::to_string(network_.graph.hosts - 1));
    return static_cast<networks::Vertex>(named.integer());
  }
  const auto found = hosts_.find(named.string());
  if (found == hosts_.end())
    throw UsageError("the network has no host " + shown(named.string()) + "; its first is " +
                     network_.graph.name(0));
  return found->second;
}

Port PortNames::port(const json::Value& entry) const {
  Port port{.host = host(entry.at("host"))};
  if (const auto* adapter = entry.find("adapter")) port.adapter = adapter_of(adapter->integer());
  wiring_.lane_of(port);  // throws where there is no such adapter
  return port;
}

std::string PortNames::name(Port port) const {
  return network_.graph.name(port.host) + " adapter " + std::to_string(port.adapter);
}

json::Value read_entry(std::string_view line, std::span<const std::string_view> keys) {
  auto value = json::parse(line, {.bytes = 1 << 16, .depth = 4, .values = 1 << 12});
  for (const auto& [key, unused] : value.object())
    if (std::ranges::find(keys, key) == keys.end())
      throw UsageError("there is no key " + shown(key) + suggestion(key, keys));
  return value;
}

}  // namespace crosscut::user_switch
