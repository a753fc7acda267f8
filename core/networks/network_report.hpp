// A network as JSON, and that as text for people.
#pragma once

#include <string>

#include "base/json.hpp"
#include "networks/network.hpp"

namespace crosscut::networks {

json::Value describe_network(const Network& network);
// Vertices, edges, groups, levels, for drawing; UsageError where there are too many to draw.
json::Value describe_graph(const Network& network);
json::Value describe_route(const Network& network, const std::string& source, const std::string& destination,
                           std::uint64_t key);
// The IP routing table of each host that forwards; UsageError where none does.
json::Value describe_tables(const Network& network);

std::string network_text(const json::Value& described);
std::string route_text(const json::Value& described);

}  // namespace crosscut::networks
