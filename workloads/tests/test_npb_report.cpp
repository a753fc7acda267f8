#include <cmath>
#include <limits>
#include <string>

#include "npb/common/report.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;

namespace {

constexpr About example{.name = "xx", .title = "An example", .operation = "things"};

Report report_of(std::vector<Check> checks) {
  Outcome outcome;
  outcome.iterations = 3;
  outcome.million_operations = 12;
  outcome.size = "7 things";
  outcome.checks = std::move(checks);
  const std::vector<double> seconds{1, 4, 2, 3};
  const std::vector<double> communication_seconds{0.5, 0.25, 1.5, 1};
  return make_report(example, ProblemClass::S, std::move(outcome), seconds, communication_seconds);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(the_slowest_rank_s_time_counts) {
  const Report report = report_of({{"a", 1, 1, 0}});
  CHECK_EQ(report.seconds, 4.0);
  CHECK_EQ(report.million_operations_per_second(), 3.0);
}

TEST(communication_is_given_as_least_median_and_most_of_all_ranks) {
  const Report report = report_of({});
  CHECK_EQ(report.minimum_communication_seconds, 0.25);
  CHECK_EQ(report.median_communication_seconds, 0.75);
  CHECK_EQ(report.maximum_communication_seconds, 1.5);
}

TEST(one_value_outside_its_tolerance_fails_the_verification) {
  CHECK(report_of({{"a", 1, 1, 0}, {"b", 2.0000001, 2, 1e-7}}).verified());
  CHECK(!report_of({{"a", 1, 1, 0}, {"b", 2.0000001, 2, 1e-8}}).verified());
}

TEST(a_value_that_is_no_number_fails_the_verification) {
  CHECK(!report_of({{"a", std::nan(""), 1, 1e9}}).verified());
  CHECK(!report_of({{"a", std::numeric_limits<double>::infinity(), 1, 1e9}}).verified());
}

TEST(what_checks_nothing_is_not_verified) { CHECK(!report_of({}).verified()); }

TEST(the_tolerance_is_absolute_where_0_is_published) {
  CHECK(report_of({{"a", 0, 0, 0}}).verified());
  CHECK(!report_of({{"a", 1, 0, 0}}).verified());
}

TEST(people_are_told_which_value_is_wrong_and_by_how_much) {
  const std::string text = for_people(report_of({{"zeta", 1.5, 1, 1e-10}}));
  CHECK(contains(text, "zeta is 1.5, but published is 1: off by 0.5, allowed 1e-10"));
  CHECK(contains(text, "FAILED"));
}

TEST(json_is_one_line_and_has_no_number_that_json_lacks) {
  const std::string text = as_json(report_of({{"zeta", std::nan(""), 1, 1e-10}}));
  CHECK(contains(text, "\"name\":\"xx\",\"class\":\"S\",\"ranks\":4,"));
  CHECK(contains(text, "\"computed\":null"));
  CHECK(contains(text, "\"verified\":false"));
  CHECK(!contains(text, "nan"));
  CHECK(!contains(text, "\n"));
}

TEST(figures_follow_for_programs_and_for_people_but_those_that_are_no_numbers) {
  Outcome outcome;
  outcome.figures = {{"gets", 12.5, "1/s"}, {"hidden", 0.25, "share", "1 KiB"}, {"clock", std::nan(""), "s"}};
  outcome.checks = {{"sum", 2, 1, 0, "expected"}};
  const std::vector<double> seconds{1};
  const Report report = make_report(example, ProblemClass::S, std::move(outcome), seconds, seconds);
  CHECK(contains(as_json(report),
                 "],\"figures\":[{\"name\":\"gets\",\"value\":12.5,\"unit\":\"1/s\",\"at\":\"\"},"
                 "{\"name\":\"hidden\",\"value\":0.25,\"unit\":\"share\",\"at\":\"1 KiB\"}]}"));
  const std::string text = for_people(report);
  CHECK(contains(text, "12.5 1/s"));
  CHECK(contains(text, "25 %"));
  CHECK(contains(text, "sum is 2, but expected is 1"));
  CHECK(!contains(text, "clock"));
}
