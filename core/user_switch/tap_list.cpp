#include "user_switch/tap_list.hpp"

#include <net/if.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/words.hpp"
#include "user_switch/port_names.hpp"

namespace crosscut::user_switch {
namespace {

class Reader {
 public:
  Reader(const networks::Network& network, const Wiring& wiring) : names_(network, wiring) {}

  TapEntry read(std::string_view line) {
    static constexpr std::string_view keys[] = {"host", "adapter", "netns", "tap", "mac", "addresses"};
    const auto value = read_entry(line, keys);
    TapEntry entry;
    entry.port = names_.port(value);
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
    const auto name = names_.name(entry.port);
    if (!ports_.insert(entry.port).second) throw UsageError(name + " has a TAP already");
    if (!macs_.insert(entry.mac).second)
      throw UsageError(name + ": " + to_text(entry.mac) + " is another's hardware address");
    for (const auto& address : entry.addresses)
      if (!addresses_.insert(address).second) throw UsageError(name + ": an address is another's, too");
  }

  PortNames names_;
  std::set<Port> ports_;
  std::set<Mac> macs_;
  std::set<Ipv4> addresses_;
};

}  // namespace

std::vector<TapEntry> parse_taps(std::string_view text, const std::string& path,
                                 const networks::Network& network, const Wiring& wiring) {
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

}  // namespace crosscut::user_switch
