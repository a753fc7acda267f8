#include "conduct/used_connections.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace crosscut::conduct {
namespace {

const json::Array fields{"session", "rank", "peer", "index", "rail", "local_port", "remote_port"};

// Returns a member of an attribute, or null if it is absent. The attribute may come from a damaged run.
const json::Value* member(const json::Value* value, std::string_view name) {
  return value != nullptr && value->is_object() ? value->find(name) : nullptr;
}

}  // namespace

void UsedConnections::add(std::span<const store::Connection> used) {
  count_ += std::ssize(used);
  const auto fitting = std::min(used.size(), most_rows - kept_.size());
  kept_.insert(kept_.end(), used.begin(), used.begin() + static_cast<std::ptrdiff_t>(fitting));
}

json::Value UsedConnections::after(const json::Value& attributes) const {
  const auto* before = attributes.find("connections");
  if (count_ == 0) return before == nullptr ? json::Value() : *before;
  const auto* resumed = attributes.find("resumed");
  const auto session = resumed != nullptr && resumed->is_array() ? std::ssize(resumed->array()) : 0;
  const auto* earlier = member(before, "count");
  const auto* earlier_rows = member(before, "rows");
  constexpr std::int64_t most_counted = std::int64_t{1} << 40;
  const auto had = earlier != nullptr && earlier->is_integer()
                       ? std::clamp(earlier->integer(), std::int64_t{0}, most_counted)
                       : 0;
  json::Array rows;
  if (earlier_rows != nullptr && earlier_rows->is_array()) rows = earlier_rows->array();
  json::Object used{{"count", had + count_}};
  if (std::cmp_not_equal(rows.size(), had) || rows.size() + static_cast<std::size_t>(count_) > most_rows)
    return used;
  for (const auto& one : kept_)
    rows.emplace_back(
        json::Array{session, one.rank, one.peer, one.index, one.rail, one.local_port, one.remote_port});
  used.emplace_back("fields", fields);
  used.emplace_back("rows", std::move(rows));
  return used;
}

}  // namespace crosscut::conduct
