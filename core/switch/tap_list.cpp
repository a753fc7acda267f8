#include "tap_list.hpp"

#include <net/if.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "error.hpp"
#include "json.hpp"
#include "words.hpp"

namespace crosscut::frames {
namespace {

constexpr int adapters_max = 32;

class Reader {
 public:
  Reader(const Network& network, const Wiring& wiring) : network_(network), wiring_(wiring) {
    for (Vertex host = 0; host < network.graph.hosts; ++host) hosts_.emplace(network.graph.name(host), host);
  }

  TapEntry read(std::string_view line) {
    const auto value = json::parse(line, {.bytes = 1 << 16, .depth = 4, .values = 1 << 12});
    static constexpr std::string_view keys[] = {"host", "adapter", "netns", "tap", "mac", "addresses"};
    for (const auto& [key, unused] : value.object())
      if (std::ranges::find(keys, key) == std::end(keys))
        throw UsageError("there is no key " + shown(key) + suggestion(key, keys));
    TapEntry entry;
    entry.port.host = host_of(value.at("host"));
    if (const auto* adapter = value.find("adapter")) entry.port.adapter = adapter_of(adapter->integer());
    wiring_.lane_of(entry.port);  // throws where there is no such adapter
    entry.netns = value.at("netns").string();
    entry.tap = value.at("tap").string();
    check_names(entry);
    const auto* mac = value.find("mac");
    entry.mac = mac ? parse_mac(mac->string()) : default_mac(entry.port.host, entry.port.adapter);
    if (const auto* addresses = value.find("addresses"))
      for (const auto& address : addresses->array()) entry.addresses.push_back(parse_ipv4(address.string()));
    check_new(entry);
    return entry;
  }

 private:
  Vertex host_of(const json::Value& value) const {
    if (value.is_integer()) {
      if (value.integer() < 0 || value.integer() >= network_.graph.hosts)
        throw UsageError("host " + std::to_string(value.integer()) +
                         ": the network's hosts are numbered 0 to " +
                         std::to_string(network_.graph.hosts - 1));
      return static_cast<Vertex>(value.integer());
    }
    const auto found = hosts_.find(value.string());
    if (found == hosts_.end())
      throw UsageError("the network has no host " + shown(value.string()) + "; its first is " +
                       network_.graph.name(0));
    return found->second;
  }

  static int adapter_of(std::int64_t number) {
    if (number < 0 || number >= adapters_max)
      throw UsageError("adapter " + std::to_string(number) + ": from 0 to " +
                       std::to_string(adapters_max - 1));
    return static_cast<int>(number);
  }

  static void check_names(const TapEntry& entry) {
    const auto is_plain = [](char c) { return c > ' ' && c < '\x7f' && c != '/' && c != ':' && c != '%'; };
    if (entry.tap.empty() || entry.tap.size() >= IFNAMSIZ || !std::ranges::all_of(entry.tap, is_plain) ||
        entry.tap == "." || entry.tap == "..")
      throw UsageError("tap " + shown(entry.tap) + " is no name of an interface (at most " +
                       std::to_string(IFNAMSIZ - 1) + " characters)");
    if (!entry.netns.starts_with("/") || entry.netns.find('\0') != std::string::npos)
      throw UsageError("netns " + shown(entry.netns) + " is no absolute path, as /run/netns/NAME");
  }

  void check_new(const TapEntry& entry) {
    const auto name = network_.graph.name(entry.port.host) + " adapter " + std::to_string(entry.port.adapter);
    if (!ports_.emplace(entry.port.host, entry.port.adapter).second)
      throw UsageError(name + " has a TAP already");
    if (!macs_.insert(entry.mac).second)
      throw UsageError(name + ": " + to_text(entry.mac) + " is another's hardware address");
    for (const auto& address : entry.addresses)
      if (!addresses_.insert(address).second) throw UsageError(name + ": an address is another's, too");
  }

  const Network& network_;
  const Wiring& wiring_;
  std::unordered_map<std::string, Vertex> hosts_;
  std::set<std::pair<Vertex, int>> ports_;
  std::set<Mac> macs_;
  std::set<Ipv4> addresses_;
};

}  // namespace

std::vector<TapEntry> parse_taps(std::string_view text, const std::string& path, const Network& network,
                                 const Wiring& wiring) {
  Reader reader(network, wiring);
  std::vector<TapEntry> entries;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) break;
    try {
      entries.push_back(reader.read(line));
    } catch (const UsageError& error) {
      throw UsageError(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (entries.empty()) throw UsageError(path + ": names no TAP");
  return entries;
}

}  // namespace crosscut::frames
