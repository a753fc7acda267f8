// Adapters of hosts, as lists from outside name them: "host" by name or number, and "adapter".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.hpp"
#include "networks/network.hpp"
#include "switch/wiring.hpp"

namespace crosscut::frames {

// Throws UsageError naming what is wrong.
class PortNames {
 public:
  PortNames(const Network& network, const Wiring& wiring);
  Vertex host(const json::Value& named) const;
  Port port(const json::Value& entry) const;
  std::string name(Port port) const;

 private:
  const Network& network_;
  const Wiring& wiring_;
  std::unordered_map<std::string, Vertex> hosts_;
};

// One line of a list: an object with no other keys.
json::Value read_entry(std::string_view line, std::span<const std::string_view> keys);

}  // namespace crosscut::frames
