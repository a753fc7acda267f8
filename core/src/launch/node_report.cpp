#include "launch/node_report.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/json.hpp"

namespace crosscut::launch {
namespace {

struct Wording {
  std::string_view event, fate;
};
// In the order of NodeReport::Kind.
constexpr std::array<Wording, 4> wordings{{{"node-up", " is up"},
                                           {"failed-rank", ""},
                                           {"node-unreachable", " could not be started: "},
                                           {"node-lost", " was lost: "}}};

const Wording& wording_of(const NodeReport& report) {
  return wordings[static_cast<std::size_t>(report.kind)];
}

std::string ranks_of(const NodeReport& report) {
  if (report.count == 1) return "rank " + std::to_string(report.first_rank);
  return "ranks " + std::to_string(report.first_rank) + " to " +
         std::to_string(report.first_rank + report.count - 1);
}

}  // namespace

std::string to_line(const NodeReport& report) {
  json::Value value =
      json::Object{{"event", wording_of(report).event}, {"rank", report.first_rank}, {"node", report.node}};
  if (report.kind != NodeReport::Kind::failed_rank) value.set("count", report.count);
  if (!report.reason.empty()) value.set("reason", report.reason);
  return json::write(value) + "\n";
}

std::optional<NodeReport> parse_node_report(std::string_view line) try {
  const json::Value value = json::parse(line, {.bytes = 1 << 16, .depth = 4});
  const json::Value* name = value.is_object() ? value.find("event") : nullptr;
  if (name == nullptr || !name->is_string()) return std::nullopt;
  const auto wording = std::ranges::find(wordings, name->string(), &Wording::event);
  if (wording == wordings.end()) return std::nullopt;
  NodeReport report{.kind = static_cast<NodeReport::Kind>(wording - wordings.begin()),
                    .node = value.at("node").string(),
                    .reason = {}};
  report.first_rank = static_cast<Rank>(std::clamp<std::int64_t>(value.at("rank").integer(), 0, 1 << 30));
  if (const json::Value* count = value.find("count"))
    report.count = static_cast<Rank>(std::clamp<std::int64_t>(count->integer(), 1, 1 << 20));
  if (const json::Value* reason = value.find("reason")) report.reason = reason->string();
  return report;
} catch (const UsageError&) {
  return std::nullopt;
}

std::string describe(const NodeReport& report) {
  if (report.kind == NodeReport::Kind::failed_rank)
    return ranks_of(report) + (report.node.empty() ? "" : " on " + report.node) + ": " + report.reason;
  return report.node + " (" + ranks_of(report) + ")" + std::string(wording_of(report).fate) + report.reason;
}

}  // namespace crosscut::launch
