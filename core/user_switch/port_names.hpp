// Adapters of hosts, as lists from outside name them: "host" by name or number, and "adapter".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.hpp"
#include "networks/network.hpp"
#include "user_switch/wiring.hpp"

namespace crosscut::user_switch {

// Throws UsageError naming what is wrong.
class PortNames {
 public:
  PortNames(const networks::Network& network, const Wiring& wiring);
  networks::Vertex host(const json::Value& named) const;
  Port port(const json::Value& entry) const;
  std::string name(Port port) const;

 private:
  const networks::Network& network_;
  const Wiring& wiring_;
  std::unordered_map<std::string, networks::Vertex> hosts_;
};

// One line of a list: an object with no other keys.
json::Value read_entry(std::string_view line, std::span<const std::string_view> keys);

}  // namespace crosscut::user_switch
