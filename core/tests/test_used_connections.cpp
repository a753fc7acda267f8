// A run's attribute `connections`: rows of all sessions, up to a bound.
#include "conduct/used_connections.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::conduct;

namespace {

const json::Value no_attributes = json::Object{};
const store::Connection one{
    .rank = 3, .peer = 1, .index = 2, .rail = 0, .local_port = 40'000, .remote_port = 5000};

UsedConnections used(std::size_t count) {
  UsedConnections connections;
  connections.add(std::vector(count, one));
  return connections;
}

}  // namespace

TEST(a_run_without_connections_has_no_attribute) { CHECK(UsedConnections().after(no_attributes).is_null()); }

TEST(a_resumed_run_keeps_the_rows_of_earlier_sessions) {
  const auto first = used(1).after(no_attributes);
  CHECK_EQ(json::write(first.at("rows")), "[[0, 3, 1, 2, 0, 40000, 5000]]");
  CHECK_EQ(first.at("fields").array().size(), first.at("rows").array().front().array().size());
  const json::Value resumed = json::Object{{"connections", first}, {"resumed", json::Array{json::Object{}}}};
  const auto second = used(1).after(resumed);
  CHECK_EQ(json::write(second.at("rows")), "[[0, 3, 1, 2, 0, 40000, 5000], [1, 3, 1, 2, 0, 40000, 5000]]");
  CHECK_EQ(second.at("count").integer(), 2);
  CHECK_EQ(json::write(UsedConnections().after(resumed)), json::write(first));
}

TEST(beyond_the_bound_connections_are_only_counted) {
  const auto most = used(UsedConnections::most_rows).after(no_attributes);
  CHECK_EQ(most.at("rows").array().size(), UsedConnections::most_rows);
  const json::Value resumed = json::Object{{"connections", most}, {"resumed", json::Array{json::Object{}}}};
  const auto more = used(1).after(resumed);
  CHECK_EQ(more.at("count").integer(), static_cast<std::int64_t>(UsedConnections::most_rows) + 1);
  CHECK(more.find("rows") == nullptr);
  const json::Value again = json::Object{{"connections", more}};
  CHECK(used(1).after(again).find("rows") == nullptr);
  auto in_blocks = used(UsedConnections::most_rows);
  in_blocks.add(std::vector(5, one));
  CHECK(in_blocks.after(no_attributes).find("rows") == nullptr);
}

TEST(a_damaged_attribute_of_earlier_sessions_stops_nothing) {
  for (const auto* text : {"3", "[]", "{}", R"({"count": "many", "rows": 3})", R"({"count": -1, "rows": []})",
                           R"({"count": 9223372036854775807, "rows": []})"})
    CHECK(!used(1).after(json::Object{{"connections", json::parse(text)}}).is_null());
}
