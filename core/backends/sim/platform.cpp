#include "backends/sim/platform.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "backends/sim/paths.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

namespace crosscut::backends::sim {
namespace {

// Bandwidth of a link without a bound, in bytes per second: SimGrid has no infinity.
constexpr double no_bound = 1e15;

std::ofstream open_text(const std::filesystem::path& path) {
  std::ofstream file(path);
  if (!file) throw_errno("write " + path.string());
  file.precision(std::numeric_limits<double>::max_digits10);
  return file;
}

void close_text(std::ofstream& file, const std::filesystem::path& path) {
  file.close();
  if (!file) throw_errno("write " + path.string());
}

class Platform {
 public:
  Platform(const networks::Network& network, Rank ranks, int ranks_per_host, std::ofstream& file)
      : paths_(network, ranks_per_host),
        ranks_(ranks),
        digits_(static_cast<int>(std::to_string(ranks - 1).size())),
        file_(file) {}

  std::string name(Rank rank) const {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "r%0*d", digits_, rank);
    return text.data();
  }

  void write() {
    file_ << "<?xml version='1.0'?>\n"
             "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
             "<platform version=\"4.1\">\n<zone id=\"network\" routing=\"Full\">\n";
    for (Rank rank = 0; rank < ranks_; ++rank) file_ << "<host id=\"" << name(rank) << "\" speed=\"1Gf\"/>\n";
    const auto capacities = paths_.capacities();
    for (const auto index : used_capacities()) {
      const double rate = capacities[static_cast<std::size_t>(index)];
      file_ << "<link id=\"c" << index << "\" bandwidth=\"" << (std::isfinite(rate) ? rate : no_bound)
            << "Bps\" latency=\"0s\"/>\n";
    }
    for (const auto& [seconds, number] : latencies_) {
      file_ << "<link id=\"w" << number << "\" bandwidth=\"" << no_bound << "Bps\" latency=\"" << seconds
            << "s\" sharing_policy=\"FATPIPE\"/>\n";
    }
    for_each_way([this](Rank source, Rank destination, double latency) {
      file_ << R"(<route src=")" << name(source) << R"(" dst=")" << name(destination)
            << R"(" symmetrical="NO"><link_ctn id="w)" << latencies_.at(latency) << R"("/>)";
      for (const auto index : uses_) file_ << "<link_ctn id=\"c" << index << "\"/>";
      file_ << "</route>\n";
    });
    file_ << "</zone>\n</platform>\n";
  }

 private:
  template <class Take>
  void for_each_way(Take take) {
    for (Rank source = 0; source < ranks_; ++source) {
      for (Rank destination = 0; destination < ranks_; ++destination) {
        if (source == destination) continue;
        uses_.clear();
        const double latency =
            paths_.path({.source = source, .destination = destination, .channel = 0, .rail = 0}, uses_);
        take(source, destination, latency);
      }
    }
  }

  // Returns the capacities in use, ascending, and numbers the distinct latencies: each becomes a link.
  std::vector<networks::CapacityIndex> used_capacities() {
    std::vector<bool> used(paths_.capacities().size());
    for_each_way([&](Rank, Rank, double latency) {
      latencies_.try_emplace(latency, static_cast<int>(latencies_.size()));
      for (const auto index : uses_) used[static_cast<std::size_t>(index)] = true;
    });
    std::vector<networks::CapacityIndex> indices;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (used[i]) indices.push_back(static_cast<networks::CapacityIndex>(i));
    return indices;
  }

  NetworkPaths paths_;
  Rank ranks_;
  int digits_;
  std::ofstream& file_;
  std::vector<networks::CapacityIndex> uses_;
  std::map<double, int> latencies_;
};

}  // namespace

std::string too_many_for_platform(std::int64_t ranks) {
  return "a SimGrid platform lists the route of every pair, so it is limited to " +
         std::to_string(platform_ranks_max) + " ranks; " + std::to_string(ranks) + " are too many";
}

void write_platform(const networks::Network& network, Rank ranks, int ranks_per_host,
                    const std::filesystem::path& file, const std::filesystem::path& hostfile) {
  if (ranks > platform_ranks_max) throw UsageError(too_many_for_platform(ranks));
  if (std::int64_t{network.graph.hosts} * ranks_per_host < ranks) {
    throw UsageError("network " + network.name + " has " + std::to_string(network.graph.hosts) +
                     " hosts; with " + std::to_string(ranks_per_host) +
                     " ranks on each there is no room for " + std::to_string(ranks) +
                     " ranks: lower -n or raise --ranks-per-host");
  }
  auto platform_file = open_text(file);
  Platform platform(network, ranks, ranks_per_host, platform_file);
  platform.write();
  close_text(platform_file, file);
  auto hosts = open_text(hostfile);
  for (Rank rank = 0; rank < ranks; ++rank) hosts << platform.name(rank) << "\n";
  close_text(hosts, hostfile);
}

}  // namespace crosscut::backends::sim
