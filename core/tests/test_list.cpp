// `crosscut-core list --json` names everything, with the data from which the Python side builds its options.
#include "base/error.hpp"
#include "program/list.hpp"
#include "program/registry.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::program;

TEST(list_names_every_pattern_and_backend_with_its_parameters) {
  const json::Value listed = describe();
  CHECK(!listed.at("version").string().empty());
  CHECK_EQ(listed.at("patterns").array().size(), patterns().size());
  CHECK_EQ(listed.at("backends").array().size(), backends().size());
  for (const char* kind : {"patterns", "backends"}) {
    for (const json::Value& entry : listed.at(kind).array()) {
      CHECK(!entry.at("name").string().empty() && !entry.at("summary").string().empty());
      for (const json::Value& parameter : entry.at("parameters").array()) {
        for (const char* member : {"name", "kind", "unit", "default", "help"})
          static_cast<void>(parameter.at(member).string());
        static_cast<void>(parameter.at("choices").array());
        CHECK_EQ(parameter.at("minimum").is_null(), parameter.at("maximum").is_null());
      }
    }
  }
}

TEST(list_says_how_runs_of_each_pattern_are_read) {
  const json::Value listed = describe();
  for (const json::Value& pattern : listed.at("patterns").array()) {
    const bool one_pair = pattern.at("name").string() == "pingpong";
    CHECK_EQ(pattern.at("shape").string() == "sweep", one_pair);
    if (one_pair) CHECK(!pattern.at("findings").boolean() && pattern.at("latency").boolean());
  }
}

TEST(list_survives_writing_and_reading) {
  const json::Value listed = describe();
  CHECK(json::parse(json::write(listed, 2)) == listed);
}

TEST(limits_of_whole_numbers_are_whole) {
  const json::Value listed = describe();
  for (const json::Value& pattern : listed.at("patterns").array()) {
    if (pattern.at("name").string() != "chain") continue;
    const json::Value& segment = pattern.at("parameters").array().at(0);
    CHECK_EQ(segment.at("name").string(), "segment");
    CHECK(segment.at("minimum").is_integer() && segment.at("minimum").integer() == 1);
  }
}

TEST(an_unavailable_backend_says_why) {
  const json::Value listed = describe();
  for (const json::Value& backend : listed.at("backends").array())
    CHECK_EQ(backend.at("available").boolean(), backend.at("unavailable").string().empty());
  CHECK_THROWS_SAYING(UsageError, "did you mean tcp", find_backend("tpc"));
}
