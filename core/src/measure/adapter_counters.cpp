#include "measure/adapter_counters.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/fd.hpp"

namespace crosscut::measure {
namespace {

namespace fs = std::filesystem;

// Most counters kept for one interface. Drivers have thousands, a set for each queue; a few dozen are about
// trouble.
constexpr std::size_t most_of_driver = 16384, most_kept = 64;

void add_files(const fs::path& folder, const std::string& prefix, json::Object& counters) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    std::ifstream file(entry.path());
    std::string line;
    if (!std::getline(file, line)) continue;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc{} && value >= 0) {
      counters.emplace_back(prefix + entry.path().filename().string(), value);
    }
  }
}

class ControlSocket {
 public:
  explicit ControlSocket(const std::string& interface_name)
      : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    interface_name.copy(request_.ifr_name, IFNAMSIZ - 1);
  }

  // Sends ioctl SIOCETHTOOL; `data` begins with its command.
  bool ask(void* data) {
    request_.ifr_data = static_cast<char*>(data);
    return fd_ && ::ioctl(fd_.get(), SIOCETHTOOL, &request_) == 0;
  }

 private:
  Fd fd_;
  ifreq request_{};
};

std::size_t number_of_driver_counters(ControlSocket& socket) {
  // The request is a header of 16 bytes and one number.
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
  return told.sset_mask == 0 ? 0 : std::min<std::size_t>(count, most_of_driver);
}

void add_driver_counters(const std::string& name, json::Object& counters) {
  ControlSocket socket(name);
  const auto count = number_of_driver_counters(socket);
  if (count == 0) return;
  // Both replies are a header and `count` entries, of 32 bytes and of 8.
  std::vector<std::uint64_t> names((sizeof(ethtool_gstrings) + count * ETH_GSTRING_LEN) / 8 + 1);
  std::vector<std::uint64_t> values(sizeof(ethtool_stats) / 8 + count + 1);
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

// IP over InfiniBand, or RoCE: the device under the interface has ports with counters of their own.
void add_infiniband_counters(const fs::path& interface_folder, json::Object& counters) {
  std::error_code ignored;
  for (const auto& device : fs::directory_iterator(interface_folder / "device" / "infiniband", ignored)) {
    for (const auto& port : fs::directory_iterator(device.path() / "ports", ignored)) {
      add_files(port.path() / "counters", "infiniband.", counters);
      add_files(port.path() / "hw_counters", "infiniband.", counters);
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
  for (const auto* file : {"mtu", "speed"}) {
    std::ifstream number(at / file);
    std::int64_t value = -1;
    const bool known = number >> value && value >= 0;
    settings.emplace_back(file == std::string_view("speed") ? "speed_mbit_s" : file,
                          known ? json::Value(value) : json::Value());
  }
  std::string duplex;
  if (std::ifstream(at / "duplex") >> duplex) settings.emplace_back("duplex", duplex);
  ControlSocket socket(name);
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
  std::ifstream changes(at / "carrier_changes");
  if (std::int64_t count = 0; changes >> count && count >= 0) counters.emplace_back("carrier_changes", count);
  add_driver_counters(name, counters);
  add_infiniband_counters(at, counters);
  return counters;
}

}  // namespace crosscut::measure
