#include "backends/sim/platform.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/sim/paths.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

namespace crosscut::backends::sim {
namespace {

// Where there is no bound. SimGrid knows no infinity; this is 10^15 bytes a second.
constexpr double no_bound = 1e15;

class TextFile {
 public:
  explicit TextFile(const std::filesystem::path& path)
      : path_(path.string()), file_(std::fopen(path_.c_str(), "w"), &std::fclose) {
    if (!file_) throw_errno("writing " + path_);
  }
  template <class... Words>
  void write(const char* format, Words... words) {
    if (std::fprintf(file_.get(), format, words...) < 0) throw_errno("writing " + path_);
  }
  void close() {
    if (std::fclose(file_.release()) != 0) throw_errno("writing " + path_);
  }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

class Platform {
 public:
  Platform(const networks::Network& network, Rank ranks, int ranks_per_host, TextFile& file)
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
    file_.write("%s",
                "<?xml version='1.0'?>\n"
                "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                "<platform version=\"4.1\">\n<zone id=\"network\" routing=\"Full\">\n");
    for (Rank rank = 0; rank < ranks_; ++rank)
      file_.write("<host id=\"%s\" speed=\"1Gf\"/>\n", name(rank).c_str());
    const auto capacities = paths_.capacities();
    for (const auto index : used_capacities()) {
      const double rate = capacities[static_cast<std::size_t>(index)];
      file_.write("<link id=\"c%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", index,
                  std::isfinite(rate) ? rate : no_bound);
    }
    for (const auto& [seconds, number] : latencies_) {
      file_.write("<link id=\"w%d\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" sharing_policy=\"FATPIPE\"/>\n",
                  number, no_bound, seconds);
    }
    for_each_way([this](Rank source, Rank destination, double latency) {
      file_.write("<route src=\"%s\" dst=\"%s\" symmetrical=\"NO\"><link_ctn id=\"w%d\"/>",
                  name(source).c_str(), name(destination).c_str(), latencies_.at(latency));
      for (const auto index : uses_) file_.write("<link_ctn id=\"c%d\"/>", index);
      file_.write("%s", "</route>\n");
    });
    file_.write("%s", "</zone>\n</platform>\n");
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

  // In order. Every distinct latency becomes a link of its own, on the way.
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
  TextFile& file_;
  std::vector<networks::CapacityIndex> uses_;
  std::map<double, int> latencies_;
};

}  // namespace

std::string too_many_for_platform(std::int64_t ranks) {
  return "a SimGrid platform with the way of every pair is written for up to " +
         std::to_string(platform_ranks_max) + " ranks, not for " + std::to_string(ranks);
}

void write_platform(const networks::Network& network, Rank ranks, int ranks_per_host,
                    const std::filesystem::path& file, const std::filesystem::path& hostfile) {
  if (ranks > platform_ranks_max) throw UsageError(too_many_for_platform(ranks));
  if (std::int64_t{network.graph.hosts} * ranks_per_host < ranks) {
    throw UsageError("network " + network.name + " has " + std::to_string(network.graph.hosts) +
                     " hosts: with " + std::to_string(ranks_per_host) + " ranks on each not enough for " +
                     std::to_string(ranks));
  }
  TextFile platform_file(file);
  Platform platform(network, ranks, ranks_per_host, platform_file);
  platform.write();
  platform_file.close();
  TextFile hosts(hostfile);
  for (Rank rank = 0; rank < ranks; ++rank) hosts.write("%s\n", platform.name(rank).c_str());
  hosts.close();
}

}  // namespace crosscut::backends::sim
