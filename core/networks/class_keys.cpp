#include "networks/class_keys.hpp"

#include <algorithm>

#include "base/words.hpp"

namespace crosscut::networks {
namespace {

constexpr int most_of_a_host = 4096;  // processors, ranks, adapters

template <typename Class, typename Read>
void apply(const TomlNode& root, std::string_view word, std::vector<Class>& classes, Mistakes& mistakes,
           Read read) {
  const auto* table = root.find(word);
  if (table == nullptr || !table->is_table()) return;
  const auto label = "[" + std::string(word) + "]";
  std::vector<std::string_view> names;
  for (const auto& each : classes) names.push_back(each.name);
  TableReader common(*table, label, mistakes);
  for (auto& each : classes) {
    // Report mistakes once, not for each class.
    Mistakes repeated("");
    TableReader again(*table, label, repeated);
    read(&each == &classes.front() ? common : again, each);
  }
  for (const auto& [key, value] : table->members) {
    if (!value.is_table()) continue;
    common.node(key);
    const auto known = std::ranges::find(classes, key, &Class::name);
    if (known == classes.end()) {
      mistakes.add(value.line,
                   "there is no " + std::string(word) + " class " + shown(key) + suggestion(key, names));
      continue;
    }
    TableReader own(value, "[" + std::string(word) + "." + key + "]", mistakes);
    read(own, *known);
    own.finish();
  }
  common.finish();
}

}  // namespace

void read_host_keys(TableReader& table, HostClass& host) {
  table.read("processors", host.processors, 1, most_of_a_host);
  table.read("ranks", host.ranks, 1, most_of_a_host);
  table.read("adapters", host.adapters, 1, most_of_a_host);
  table.read_rate("memory_rate", host.memory_rate);
  table.read_seconds("memory_latency", host.memory_latency);
  table.read_seconds("send_overhead", host.send_overhead);
  table.read_seconds("receive_overhead", host.receive_overhead);
  table.read_choice("forwards", forwarding_words, host.forwards);
  table.read_seconds("forward_latency", host.forward_latency);
  table.read_price("price", host.price);
  table.read_price("adapter_price", host.adapter_price);
}

void read_switch_keys(TableReader& table, SwitchClass& its, bool generated) {
  table.read_seconds("latency", its.latency);
  table.read("ports", its.ports, 1, 1'000'000);
  table.read_price("price", its.price);
  table.read_price("port_price", its.port_price);
  if (generated) return;
  table.read_rate("capacity", its.capacity);
  table.read_choice("bounds", bounds_words, its.bounds);
}

void read_link_keys(TableReader& table, LinkClass& its, bool generated) {
  table.read_seconds("latency", its.latency);
  table.read_price("price", its.price);
  if (generated) return;
  const bool is_alike = its.back_rate == its.rate;
  table.read_rate("rate", its.rate);
  if (is_alike || table.has("rate")) its.back_rate = its.rate;
  table.read_rate("back_rate", its.back_rate);
  table.read("half_duplex", its.half_duplex);
  if (its.half_duplex && table.has("back_rate"))
    table.mistake("back_rate",
                  "both directions of a half-duplex link share its rate; leave out back_rate or half_duplex");
}

void apply_to_classes(const TomlNode& root, Graph& graph, Mistakes& mistakes) {
  apply(root, "switch", graph.switch_classes, mistakes,
        [](TableReader& table, SwitchClass& each) { read_switch_keys(table, each, true); });
  apply(root, "link", graph.link_classes, mistakes,
        [](TableReader& table, LinkClass& each) { read_link_keys(table, each, true); });
}

Protocol read_protocol(const TomlNode& root, Mistakes& mistakes) {
  Protocol protocol;
  const auto* found = root.find("protocol");
  if (found == nullptr || !found->is_table()) return protocol;
  constexpr int most_bytes = 1 << 20;
  TableReader table(*found, "[protocol]", mistakes);
  table.read("name", protocol.name);
  table.read("source", protocol.source);
  table.read("mtu", protocol.mtu, 1, most_bytes);
  table.read("headers", protocol.headers, 0, most_bytes);
  table.read("framing", protocol.framing, 0, most_bytes);
  table.read_fraction("efficiency", protocol.efficiency);
  if (table.has("efficiency") && (table.has("mtu") || table.has("headers") || table.has("framing"))) {
    table.mistake("efficiency", "give either efficiency, or mtu, headers and framing, from which it follows");
  } else if ((table.has("headers") || table.has("framing")) && !table.has("mtu")) {
    table.mistake(table.has("headers") ? "headers" : "framing", "means nothing without mtu");
  } else if (protocol.mtu > 0 && protocol.headers >= protocol.mtu) {
    table.mistake("headers", "leave no room for payload in an mtu of " + std::to_string(protocol.mtu));
  } else if (protocol.mtu > 0) {
    protocol.efficiency = static_cast<double>(protocol.mtu - protocol.headers) /
                          static_cast<double>(protocol.mtu + protocol.framing);
  }
  table.finish();
  return protocol;
}

}  // namespace crosscut::networks
