#include "measure/machine.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/json_members.hpp"
#include "base/sha256.hpp"
#include "base/words.hpp"
#include "measure/locality.hpp"

namespace crosscut::measure {
namespace {

namespace fs = std::filesystem;

const fs::path tcp_folder = "/proc/sys/net/ipv4";

// Returns the number at the start of a kernel file's text; nullopt if there is none or it is negative.
std::optional<std::int64_t> count_in(const std::string& text) {
  std::int64_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  return parsed.ec == std::errc{} && count >= 0 ? std::optional(count) : std::nullopt;
}

// Most counters read, and most kept, for one interface. Drivers have thousands, a set for each queue; a few
// dozen report problems.
constexpr std::size_t most_of_driver = 16384, most_kept = 64;

void add_files(const fs::path& folder, const std::string& prefix, json::Object& counters) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (const auto count = count_in(first_line(entry.path())))
      counters.emplace_back(prefix + entry.path().filename().string(), *count);
}

class EthtoolSocket {
 public:
  explicit EthtoolSocket(const std::string& interface_name)
      : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    interface_name.copy(request_.ifr_name, IFNAMSIZ - 1);
  }

  // Sends ioctl SIOCETHTOOL; `data` begins with the command. Returns false if that fails.
  bool ask(void* data) {
    request_.ifr_data = static_cast<char*>(data);
    return fd_ && ::ioctl(fd_.get(), SIOCETHTOOL, &request_) == 0;
  }

 private:
  Fd fd_;
  ifreq request_{};
};

std::size_t number_of_driver_counters(EthtoolSocket& socket) {
  // The request is a 16-byte header and one number.
  std::array<std::uint64_t, sizeof(ethtool_sset_info) / 8 + 1> info{};
  ethtool_sset_info asked{};
  asked.cmd = ETHTOOL_GSSET_INFO;
  asked.sset_mask = std::uint64_t{1} << ETH_SS_STATS;
  std::memcpy(info.data(), &asked, sizeof asked);
  if (!socket.ask(info.data())) return 0;
  ethtool_sset_info told{};
  std::memcpy(&told, info.data(), sizeof told);
  std::uint32_t count = 0;
  std::memcpy(&count, info.data() + sizeof told / 8, sizeof count);
  return told.sset_mask == 0 || count > most_of_driver ? 0 : count;
}

void add_driver_counters(const std::string& name, json::Object& counters) {
  EthtoolSocket socket(name);
  const auto count = number_of_driver_counters(socket);
  if (count == 0) return;
  // Each reply is a header and `count` entries: names of 32 bytes, values of 8. Linux writes all that the
  // driver has, whatever the request says, and a driver that was reconfigured meanwhile may have more.
  const auto room = most_of_driver + count;
  std::vector<std::uint64_t> names((sizeof(ethtool_gstrings) + room * ETH_GSTRING_LEN) / 8 + 1);
  std::vector<std::uint64_t> values(sizeof(ethtool_stats) / 8 + room + 1);
  const auto asked = static_cast<std::uint32_t>(count);
  ethtool_gstrings names_head{};
  names_head.cmd = ETHTOOL_GSTRINGS;
  names_head.string_set = ETH_SS_STATS;
  names_head.len = asked;
  ethtool_stats values_head{};
  values_head.cmd = ETHTOOL_GSTATS;
  values_head.n_stats = asked;
  std::memcpy(names.data(), &names_head, sizeof names_head);
  std::memcpy(values.data(), &values_head, sizeof values_head);
  if (!socket.ask(names.data()) || !socket.ask(values.data())) return;
  const auto* text = reinterpret_cast<const char*>(names.data()) + sizeof(ethtool_gstrings);
  const auto* number = values.data() + sizeof(ethtool_stats) / 8;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count && kept < most_kept; ++i) {
    const std::string counter(text + i * ETH_GSTRING_LEN,
                              ::strnlen(text + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN));
    if (!std::in_range<std::int64_t>(number[i]) || number[i] == 0 || !tells_of_trouble(counter)) continue;
    counters.emplace_back("driver." + counter, static_cast<std::int64_t>(number[i]));
    ++kept;
  }
}

// Visits the folders of the ports of the device under an interface that runs IP over InfiniBand or RoCE.
void for_each_infiniband_port(const fs::path& interface_folder, const auto& visit) {
  std::error_code ignored;
  for (const auto& device : fs::directory_iterator(interface_folder / "device" / "infiniband", ignored))
    for (const auto& port : fs::directory_iterator(device.path() / "ports", ignored)) visit(port.path());
}

struct Adapter {
  std::string name, address;
};

std::vector<Adapter> adapters_of(std::span<const session::Address> interfaces) {
  std::vector<Adapter> adapters;
  std::set<std::string> seen;
  for (const auto& local : session::local_addresses()) {
    for (const auto& wanted : interfaces) {
      // All of 127.0.0.0/8 is loopback, but the adapter has only the address 127.0.0.1.
      const bool loopback = wanted.host().starts_with("127.") && local.interface == "lo";
      if ((local.address.host() == wanted.host() || loopback) && seen.insert(local.interface).second)
        adapters.push_back({local.interface, wanted.host()});
    }
  }
  return adapters;
}

// Parses /proc/net/snmp or netstat: pairs of lines with the same prefix, one of names and one of values.
void add_protocol_counters(const fs::path& path, std::string_view prefix, const std::set<std::string>& wanted,
                           json::Object& counters) {
  std::ifstream file(path);
  std::string names, values;
  while (std::getline(file, names) && std::getline(file, values)) {
    if (!names.starts_with(prefix)) continue;
    std::istringstream name_words(names), value_words(values);
    std::string name, value;
    while (name_words >> name && value_words >> value) {
      if (wanted.contains(name)) counters.emplace_back(name, json::to_json(count_in(value)));
    }
  }
}

}  // namespace

bool tells_of_trouble(const std::string& counter) {
  static constexpr std::array words{"err",  "drop", "discard", "pause",  "crc",       "fec",
                                    "miss", "loss", "symbol",  "jabber", "collision", "overrun"};
  std::string lower(counter);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(words, [&](const char* word) { return lower.find(word) != std::string::npos; });
}

json::Object adapter_settings(const std::string& name) {
  const fs::path at = fs::path("/sys/class/net") / name;
  json::Object settings;
  settings.emplace_back("mtu", json::to_json(count_in(first_line(at / "mtu"))));
  settings.emplace_back("speed_mbit_s", json::to_json(count_in(first_line(at / "speed"))));
  if (auto duplex = first_line(at / "duplex"); !duplex.empty())
    settings.emplace_back("duplex", std::move(duplex));
  EthtoolSocket socket(name);
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (socket.ask(&driver))
    settings.emplace_back("driver",
                          std::string(driver.driver, ::strnlen(driver.driver, sizeof driver.driver)));
  json::Object offloads;
  for (const auto& [offload, command] : {std::pair{"rx-checksum", ETHTOOL_GRXCSUM},
                                         {"tx-checksum", ETHTOOL_GTXCSUM},
                                         {"scatter-gather", ETHTOOL_GSG},
                                         {"tso", ETHTOOL_GTSO},
                                         {"gso", ETHTOOL_GGSO},
                                         {"gro", ETHTOOL_GGRO}}) {
    ethtool_value answer{};
    answer.cmd = static_cast<std::uint32_t>(command);
    if (socket.ask(&answer)) offloads.emplace_back(offload, answer.data != 0);
  }
  settings.emplace_back("offloads", std::move(offloads));
  return settings;
}

json::Object adapter_counters(const std::string& name) {
  const fs::path at = fs::path("/sys/class/net") / name;
  json::Object counters;
  add_files(at / "statistics", "", counters);
  if (const auto count = count_in(first_line(at / "carrier_changes")))
    counters.emplace_back("carrier_changes", *count);
  add_driver_counters(name, counters);
  for_each_infiniband_port(at, [&](const fs::path& port) {
    for (const auto* folder : {"counters", "hw_counters"}) add_files(port / folder, "infiniband.", counters);
  });
  return counters;
}

std::size_t last_level_cache_bytes() {
  std::size_t largest = 0;
  std::error_code ignored;
  for (const auto& index : fs::directory_iterator("/sys/devices/system/cpu/cpu0/cache", ignored)) {
    const auto text = first_line(index.path() / "size");  // "32768K"
    const auto digits = text.find_first_not_of("0123456789");
    const auto count = count_in(text.substr(0, digits));
    const char unit = digits == std::string::npos ? ' ' : text[digits];
    const std::size_t scale = unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1;
    if (count) largest = std::max(largest, static_cast<std::size_t>(*count) * scale);
  }
  return largest > 0 ? largest : std::size_t{32} << 20;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
  return name.data();
}

std::string node_id() {
  auto text = first_line("/etc/machine-id");
  if (text.empty()) text = host_name();
  // Emulated nodes share a machine's id, but each has its own host name.
  text += '\n' + host_name();
  const auto digest = Sha256().add(octets(text)).finish();
  return hex(std::span(digest).first(8));
}

std::vector<int> cores_near(std::span<const session::Address> interfaces) {
  std::set<int> near;
  for (const auto& adapter : adapters_of(interfaces))
    for (const int core : cores_near(adapter.name)) near.insert(core);
  return {near.begin(), near.end()};
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
    if (const auto near = cores_near(adapter.name); !near.empty())
      facts.emplace_back("near_cores", core_list(near));
    adapters.emplace_back(std::move(facts));
  }
  json::Array numa;
  for (auto& cores : numa_nodes()) numa.emplace_back(std::move(cores));
  return json::Object{{"name", host_name()},
                      {"id", node_id()},
                      {"kernel", std::string(kernel.sysname) + " " + kernel.release},
                      {"cores", static_cast<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN))},
                      {"numa_nodes", std::move(numa)},
                      {"last_level_cache_bytes", static_cast<std::int64_t>(last_level_cache_bytes())},
                      {"page_bytes", static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE))},
                      {"congestion_control", first_line(tcp_folder / "tcp_congestion_control")},
                      {"adapters", std::move(adapters)}};
}

std::string adapter_name(const session::Address& address) {
  const auto found = adapters_of(std::span(&address, 1));
  return found.empty() ? address.host() : found.front().name;
}

json::Object node_counters(std::span<const session::Address> interfaces) {
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

Sent sent_by_adapters() {
  Sent sent;
  const auto add = [](std::int64_t& to, const fs::path& file, std::int64_t unit) {
    if (const auto count = count_in(first_line(file))) to += *count * unit;
  };
  std::error_code ignored;
  for (const auto& interface : fs::directory_iterator("/sys/class/net", ignored)) {
    if (interface.path().filename() == "lo") continue;
    add(sent.bytes, interface.path() / "statistics/tx_bytes", 1);
    add(sent.frames, interface.path() / "statistics/tx_packets", 1);
    for_each_infiniband_port(interface.path(), [&](const fs::path& port) {
      add(sent.bytes, port / "counters/port_xmit_data", 4);  // in words of four bytes
      add(sent.frames, port / "counters/port_xmit_packets", 1);
    });
  }
  return sent;
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
