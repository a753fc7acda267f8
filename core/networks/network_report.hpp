// Describes a network as JSON, and that JSON as text for people.
#pragma once

#include <string>

#include "base/json.hpp"
#include "networks/network.hpp"

namespace crosscut::networks {

json::Value describe_network(const Network& network);
// Returns vertices, edges, groups and levels for drawing. Throws UsageError if there are too many to draw.
json::Value describe_graph(const Network& network);
json::Value describe_route(const Network& network, const std::string& source, const std::string& destination,
                           std::uint64_t key);
// Returns the IP routing table of each host that forwards. Throws UsageError if none does.
json::Value describe_tables(const Network& network);

std::string network_text(const json::Value& described);
std::string route_text(const json::Value& described);

}  // namespace crosscut::networks
