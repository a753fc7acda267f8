#include "user_switch/lists.hpp"

#include <net/if.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/words.hpp"

namespace crosscut::user_switch {
namespace {

constexpr int adapters_max = 32;

int adapter_of(std::int64_t number) {
  if (number < 0 || number >= adapters_max)
    throw UsageError("adapter " + std::to_string(number) + ": must be from 0 to " +
                     std::to_string(adapters_max - 1));
  return static_cast<int>(number);
}

// Resolves names of hosts and adapters. Throws UsageError that names the mistake.
class PortNames {
 public:
  PortNames(const networks::Network& network, const Wiring& wiring) : network_(network), wiring_(wiring) {
    for (networks::Vertex host = 0; host < network.graph.hosts; ++host)
      hosts_.emplace(network.graph.name(host), host);
  }

  networks::Vertex host(const json::Value& named) const {
    if (named.is_integer()) {
      if (named.integer() < 0 || named.integer() >= network_.graph.hosts)
        throw UsageError("host " + std::to_string(named.integer()) +
                         ": the network's hosts are numbered 0 to " +
                         std::to_string(network_.graph.hosts - 1));
      return static_cast<networks::Vertex>(named.integer());
    }
    const auto found = hosts_.find(named.string());
    if (found == hosts_.end())
      throw UsageError("the network has no host " + shown(named.string()) + "; its first is " +
                       network_.graph.name(0));
    return found->second;
  }

  Port port(const json::Value& entry) const {
    Port port{.host = host(entry.at("host"))};
    if (const auto* adapter = entry.find("adapter")) port.adapter = adapter_of(adapter->integer());
    wiring_.lane_of(port);  // throws if there is no such adapter
    return port;
  }

  std::string name(Port port) const {
    return network_.graph.name(port.host) + " adapter " + std::to_string(port.adapter);
  }

 private:
  const networks::Network& network_;
  const Wiring& wiring_;
  std::unordered_map<std::string, networks::Vertex> hosts_;
};

// Reads one line of a list: an object that has no keys but `keys`. Throws UsageError.
json::Value read_entry(std::string_view line, std::span<const std::string_view> keys) {
  auto value = json::parse(line, {.bytes = 1 << 16, .depth = 4, .values = 1 << 12});
  for (const auto& [key, unused] : value.object())
    if (std::ranges::find(keys, key) == keys.end())
      throw UsageError("there is no key " + shown(key) + suggestion(key, keys));
  return value;
}

// Calls `read` for every line until it returns false. Prefixes its UsageErrors with file and line.
template <class Read>
void read_lines(std::string_view text, const std::string& path, Read read) {
  int number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    try {
      if (!read(line)) return;
    } catch (const UsageError& error) {
      throw UsageError(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
}

void check_names(const TapEntry& entry) {
  const auto is_plain = [](char c) { return c > ' ' && c < '\x7f' && c != '/' && c != ':' && c != '%'; };
  if (entry.tap.empty() || entry.tap.size() >= IFNAMSIZ || !std::ranges::all_of(entry.tap, is_plain) ||
      entry.tap == "." || entry.tap == "..")
    throw UsageError("tap " + shown(entry.tap) + " is not the name of an interface (at most " +
                     std::to_string(IFNAMSIZ - 1) + " characters)");
  if (!entry.netns.starts_with("/") || entry.netns.find('\0') != std::string::npos)
    throw UsageError("netns " + shown(entry.netns) + " is not an absolute path, such as /run/netns/NAME");
}

// Ports and addresses of earlier entries.
struct Taken {
  std::set<Port> ports;
  std::set<Mac> macs;
  std::set<Ipv4> addresses;
};

void check_new(const TapEntry& entry, const std::string& name, Taken& taken) {
  if (!taken.ports.insert(entry.port).second) throw UsageError(name + " already has a TAP");
  if (!taken.macs.insert(entry.mac).second)
    throw UsageError(name + ": " + to_text(entry.mac) + " is already another adapter's hardware address");
  for (const auto& address : entry.addresses)
    if (!taken.addresses.insert(address).second) throw UsageError(name + ": an address is listed twice");
}

TapEntry read_tap(std::string_view line, const PortNames& names) {
  static constexpr std::string_view keys[] = {"host", "adapter", "netns", "tap", "mac", "addresses"};
  const auto value = read_entry(line, keys);
  TapEntry entry;
  entry.port = names.port(value);
  entry.netns = value.at("netns").string();
  entry.tap = value.at("tap").string();
  check_names(entry);
  const auto* mac = value.find("mac");
  entry.mac = mac ? parse_mac(mac->string()) : default_mac(entry.port.host, entry.port.adapter);
  if (const auto* addresses = value.find("addresses"))
    for (const auto& address : addresses->array()) entry.addresses.push_back(parse_ipv4(address.string()));
  return entry;
}

constexpr double share_least = 1e-6;
constexpr double period_most_seconds = 3600, period_least_seconds = 1e-3;

double share_of(const json::Value& entry, std::string_view key) {
  const auto* value = entry.find(key);
  if (value == nullptr) return 1;
  const double share = value->number();
  if (!(share >= share_least && share <= 1))
    throw UsageError(std::string(key) + ": must be a share of the rate, from 0.000001 to 1");
  return share;
}

bool is_set(const json::Value& entry, std::string_view key) {
  const auto* value = entry.find(key);
  return value != nullptr && value->boolean();
}

std::int64_t nanoseconds_of(double seconds) { return std::llround(seconds * 1e9); }

Outage outage_of(const json::Value& entry) {
  Outage outage;
  const auto* lose = entry.find("lose");
  if (lose == nullptr) {
    for (const std::string_view key : {"carrier", "seconds", "every"})
      if (entry.find(key) != nullptr) throw UsageError(std::string(key) + " goes with \"lose\"");
    return outage;
  }
  const auto& which = lose->string();
  if (which != "in" && which != "out" && which != "both")
    throw UsageError("lose " + shown(which) + ": must be in, out or both");
  outage.in = which != "out";
  outage.out = which != "in";
  outage.shows = is_set(entry, "carrier");
  const auto* seconds = entry.find("seconds");
  const auto* every = entry.find("every");
  if ((seconds == nullptr) != (every == nullptr)) throw UsageError("seconds and every go together");
  if (every == nullptr) return outage;
  const double lasts = seconds->number(), period = every->number();
  if (!(lasts > 0 && lasts < period && period >= period_least_seconds && period <= period_most_seconds))
    throw UsageError("every must be from 1 ms to 1 h, and seconds must be above 0 and less than every");
  outage.lasts = nanoseconds_of(lasts);
  outage.every = nanoseconds_of(period);
  return outage;
}

CableFault read_fault(std::string_view line, const PortNames& names) {
  static constexpr std::string_view keys[] = {"host",  "adapter", "in",      "out",     "half_duplex", "at",
                                              "known", "lose",    "carrier", "seconds", "every"};
  const auto entry = read_entry(line, keys);
  CableFault fault{.port = names.port(entry),
                   .in_share = share_of(entry, "in"),
                   .out_share = share_of(entry, "out"),
                   .half_duplex = is_set(entry, "half_duplex"),
                   .place = {},
                   .is_known = is_set(entry, "known"),
                   .outage = outage_of(entry)};
  if (const auto* at = entry.find("at")) {
    json::Object place{{"host", *at}, {"adapter", fault.port.adapter}};
    fault.place = names.port(std::move(place));
    if (fault.place->host == fault.port.host)
      throw UsageError("at: names the faulty host itself; name another host");
  }
  return fault;
}

}  // namespace

std::vector<TapEntry> parse_taps(std::string_view text, const std::string& path,
                                 const networks::Network& network, const Wiring& wiring) {
  const PortNames names(network, wiring);
  std::vector<TapEntry> entries;
  Taken taken;
  read_lines(text, path, [&](std::string_view line) {
    if (line.empty()) return false;
    entries.push_back(read_tap(line, names));
    check_new(entries.back(), names.name(entries.back().port), taken);
    return true;
  });
  if (entries.empty()) throw UsageError(path + ": names no TAP");
  return entries;
}

std::vector<CableFault> parse_faults(std::string_view text, const std::string& path,
                                     const networks::Network& network, const Wiring& wiring) {
  const PortNames names(network, wiring);
  std::vector<CableFault> faults;
  std::set<Port> seen;
  read_lines(text, path, [&](std::string_view line) {
    if (line.empty()) return true;
    faults.push_back(read_fault(line, names));
    if (!seen.insert(faults.back().port).second)
      throw UsageError(names.name(faults.back().port) + " already has a fault");
    return true;
  });
  return faults;
}

}  // namespace crosscut::user_switch
