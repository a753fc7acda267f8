#include "launch/node_report.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"

namespace crosscut::launch {
namespace {

constexpr std::array<std::pair<NodeReport::Kind, std::string_view>, 4> events{{
    {NodeReport::Kind::up, "node-up"},
    {NodeReport::Kind::failed_rank, "failed-rank"},
    {NodeReport::Kind::unreachable, "node-unreachable"},
    {NodeReport::Kind::lost, "node-lost"},
}};

std::string ranks_of(const NodeReport& report) {
  if (report.count == 1) return "rank " + std::to_string(report.first_rank);
  return "ranks " + std::to_string(report.first_rank) + " to " +
         std::to_string(report.first_rank + report.count - 1);
}

}  // namespace

std::string to_line(const NodeReport& report) {
  const auto event = std::ranges::find(events, report.kind, [](const auto& known) { return known.first; });
  json::Value value =
      json::Object{{"event", event->second}, {"rank", report.first_rank}, {"node", report.node}};
  if (report.kind != NodeReport::Kind::failed_rank) value.set("count", report.count);
  if (!report.reason.empty()) value.set("reason", report.reason);
  return json::write(value) + "\n";
}

std::optional<NodeReport> parse_node_report(std::string_view line) try {
  const json::Value value = json::parse(line, {.bytes = 1 << 16, .depth = 4});
  const json::Value* name = value.is_object() ? value.find("event") : nullptr;
  if (name == nullptr || !name->is_string()) return std::nullopt;
  const auto event =
      std::ranges::find(events, name->string(), [](const auto& known) { return std::string(known.second); });
  if (event == events.end()) return std::nullopt;
  NodeReport report{.kind = event->first, .node = value.at("node").string(), .reason = {}};
  report.first_rank = static_cast<Rank>(std::clamp<std::int64_t>(value.at("rank").integer(), 0, 1 << 30));
  if (const json::Value* count = value.find("count"))
    report.count = static_cast<Rank>(std::clamp<std::int64_t>(count->integer(), 1, 1 << 20));
  if (const json::Value* reason = value.find("reason")) report.reason = reason->string();
  return report;
} catch (const UsageError&) {
  return std::nullopt;
}

std::string describe(const NodeReport& report) {
  switch (report.kind) {
    case NodeReport::Kind::up:
      return report.node + " (" + ranks_of(report) + ") is up";
    case NodeReport::Kind::failed_rank:
      return ranks_of(report) + (report.node.empty() ? "" : " on " + report.node) + " " + report.reason;
    case NodeReport::Kind::unreachable:
      return report.node + " (" + ranks_of(report) + ") could not be started: " + report.reason;
    case NodeReport::Kind::lost:
      return report.node + " (" + ranks_of(report) + ") was lost: " + report.reason;
  }
  return {};
}

}  // namespace crosscut::launch
