#include "measure/machine.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "base/sha256.hpp"
#include "base/words.hpp"
#include "measure/adapter_counters.hpp"

namespace crosscut::measure {
namespace {

namespace fs = std::filesystem;

const fs::path tcp_folder = "/proc/sys/net/ipv4";

// Returns the first line of a small kernel file; empty if it cannot be read (the speed of a virtual link,
// say).
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

json::Value number_or_null(const std::string& text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || value < 0) return {};
  return value;
}

struct Adapter {
  std::string name, address;
};

std::vector<Adapter> adapters_of(std::span<const session::Address> interfaces) {
  std::vector<Adapter> adapters;
  std::set<std::string> seen;
  for (const auto& local : session::local_addresses()) {
    for (const auto& wanted : interfaces) {
      // All of 127.0.0.0/8 is loopback, but the adapter has the address 127.0.0.1 only.
      const bool loopback = wanted.host().starts_with("127.") && local.interface == "lo";
      if ((local.address.host() == wanted.host() || loopback) && seen.insert(local.interface).second)
        adapters.push_back({local.interface, wanted.host()});
    }
  }
  return adapters;
}

// Parses /proc/net/snmp and netstat: pairs of lines, names and values, with the same prefix.
void add_protocol_counters(const fs::path& path, std::string_view prefix, const std::set<std::string>& wanted,
                           json::Object& counters) {
  std::ifstream file(path);
  std::string names, values;
  while (std::getline(file, names) && std::getline(file, values)) {
    if (!names.starts_with(prefix)) continue;
    std::istringstream name_words(names), value_words(values);
    std::string name, value;
    while (name_words >> name && value_words >> value) {
      if (wanted.contains(name)) counters.emplace_back(name, number_or_null(value));
    }
  }
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
  return name.data();
}

std::string node_id() {
  auto text = first_line("/etc/machine-id");
  if (text.empty()) text = host_name();
  // Emulated nodes share a machine, and each has its own host name.
  text += '\n' + host_name();
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  const auto digest = Sha256().add(bytes).finish();
  return hex(std::span(digest).first(8));
}

json::Value node_facts(std::span<const session::Address> interfaces) {
  utsname kernel{};
  ::uname(&kernel);
  json::Array adapters;
  for (const auto& adapter : adapters_of(interfaces)) {
    json::Object facts{{"name", adapter.name},
                       {"address", adapter.address},
                       {"mac", first_line(fs::path("/sys/class/net") / adapter.name / "address")}};
    std::ranges::move(adapter_settings(adapter.name), std::back_inserter(facts));
    adapters.emplace_back(std::move(facts));
  }
  return json::Object{{"name", host_name()},
                      {"id", node_id()},
                      {"kernel", std::string(kernel.sysname) + " " + kernel.release},
                      {"cores", static_cast<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN))},
                      {"congestion_control", first_line(tcp_folder / "tcp_congestion_control")},
                      {"adapters", std::move(adapters)}};
}

json::Value node_counters(std::span<const session::Address> interfaces) {
  json::Object all;
  for (const auto& adapter : adapters_of(interfaces)) {
    all.emplace_back(adapter.name, adapter_counters(adapter.name));
  }
  json::Object tcp;
  add_protocol_counters("/proc/net/snmp", "Tcp:", {"RetransSegs", "InSegs", "OutSegs", "InErrs", "OutRsts"},
                        tcp);
  add_protocol_counters(
      "/proc/net/netstat", "TcpExt:",
      {"TCPTimeouts", "TCPLostRetransmit", "TCPFastRetrans", "TCPSlowStartRetrans", "TCPBacklogDrop"}, tcp);
  all.emplace_back("tcp", std::move(tcp));
  return all;
}

json::Value tcp_settings() {
  json::Object settings;
  for (const auto* name : {"tcp_congestion_control", "tcp_slow_start_after_idle", "tcp_rmem", "tcp_wmem",
                           "tcp_sack", "tcp_timestamps", "tcp_mtu_probing"}) {
    settings.emplace_back(name, first_line(tcp_folder / name));
  }
  settings.emplace_back("default_qdisc", first_line("/proc/sys/net/core/default_qdisc"));
  return settings;
}

}  // namespace crosscut::measure
