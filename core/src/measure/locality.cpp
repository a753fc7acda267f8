#include "measure/locality.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>

#include "base/file.hpp"

namespace crosscut::measure {
namespace {

namespace fs = std::filesystem;

constexpr int most_cores = 1 << 20;
// A VLAN on a bond on adapters; deeper stacks may be circles of links.
constexpr int deepest = 4;

// Merges `more` into `cores`; both ascending.
void add(std::vector<int>& cores, const std::vector<int>& more) {
  std::vector<int> all;
  std::ranges::set_union(cores, more, std::back_inserter(all));
  cores = std::move(all);
}

std::vector<int> near_interface(const fs::path& interface, int depth) {
  std::error_code missing;
  // A virtio device lies below the PCI device that tells.
  const fs::path device = fs::canonical(interface / "device", missing);
  for (fs::path at = device; !missing && at.has_relative_path(); at = at.parent_path())
    if (fs::exists(at / "local_cpulist", missing)) return parse_core_list(first_line(at / "local_cpulist"));
  std::vector<int> cores;
  if (depth == 0) return cores;
  for (const auto& entry : fs::directory_iterator(interface, missing))
    if (entry.path().filename().string().starts_with("lower_"))
      add(cores, near_interface(entry.path(), depth - 1));
  return cores;
}

}  // namespace

std::vector<int> parse_core_list(std::string_view text) {
  std::vector<int> cores;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    int first = 0, last = 0;
    auto parsed = std::from_chars(at, end, first);
    last = first;
    if (parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == '-')
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc{} || first < (cores.empty() ? 0 : cores.back() + 1) || last < first ||
        last >= most_cores)
      return {};
    for (int core = first; core <= last; ++core) cores.push_back(core);
    at = parsed.ptr;
    if (at != end && (*at++ != ',' || at == end)) return {};
  }
  return cores;
}

std::string core_list(std::span<const int> numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[first]);
    if (i > first) text += '-' + std::to_string(numbers[i]);
  }
  return text;
}

std::vector<int> cores_near(const std::string& interface, const fs::path& sys) {
  return near_interface(sys / "class/net" / interface, deepest);
}

std::vector<std::string> numa_nodes(const fs::path& sys) {
  std::map<int, std::string> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(sys / "devices/system/node", missing)) {
    const std::string name = entry.path().filename().string();
    const auto number = name.starts_with("node") ? parse_core_list(name.substr(4)) : std::vector<int>{};
    const auto cores = parse_core_list(first_line(entry.path() / "cpulist"));
    if (number.size() == 1 && !cores.empty()) found.emplace(number.front(), core_list(cores));
  }
  std::vector<std::string> nodes;
  for (auto& [number, cores] : found) nodes.push_back(std::move(cores));
  return nodes;
}

std::vector<int> by_nearness(std::span<const int> allowed, std::span<const int> near, const fs::path& sys) {
  // By core: whether it is far, and its place among the hardware threads of its core.
  std::map<int, std::pair<bool, std::ptrdiff_t>> rank_of;
  for (const int core : allowed) {
    const auto name = "cpu" + std::to_string(core);
    const auto threads =
        parse_core_list(first_line(sys / "devices/system/cpu" / name / "topology/thread_siblings_list"));
    const auto thread = std::ranges::find(threads, core);
    const bool far = !near.empty() && !std::ranges::binary_search(near, core);
    rank_of[core] = {far, thread == threads.end() ? 0 : thread - threads.begin()};
  }
  std::vector<int> order(allowed.begin(), allowed.end());
  std::ranges::stable_sort(order, {}, [&](int core) { return rank_of.at(core); });
  return order;
}

}  // namespace crosscut::measure
