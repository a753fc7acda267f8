#include "base/error.hpp"
#include "conduct/job.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::conduct;

namespace {
Job job_from(const char* text) { return parse_job(json::parse(text)); }
}  // namespace

TEST(a_job_needs_only_a_pattern) {
  const Job job = job_from(R"({"pattern": "aapc"})");
  CHECK_EQ(job.pattern, "aapc");
  CHECK_EQ(job.backend, "tcp");
  CHECK_EQ(job.repetitions, 0);  // the backend's own
  CHECK(to_json(job).at("repetitions").is_null());
  CHECK(!job.phases && job.sizes.empty());
  CHECK_THROWS_SAYING(UsageError, "missing member \"pattern\"", job_from("{}"));
}

TEST(every_member_survives_conversion_to_json_and_back) {
  Job job;
  job.pattern = "pairs";
  job.pattern_parameters = {{"pairs", "0-1"}};
  job.backend = "null";
  job.backend_parameters = {{"latency", "1us"}};
  job.sizes = {0, 1'000'000};
  job.phases = {2, 5};
  job.repetitions = 77;
  job.minimum_repetitions = 9;
  job.interval = 0.05;
  job.warm_up = 3;
  job.iterations = 1;
  job.window = 8;
  job.rails = 2;
  job.sync = "none";
  job.cache = "cold";
  job.noise = "1ms/10ms";
  job.wait = "poll";
  job.seed = 123456789;
  job.order_seed = 4;
  job.memory_bytes = 1;
  job.verify = job.compute = job.tolerate_failures = job.keep_connections = job.resume = job.force = true;
  job.time_limit_seconds = 1.5;
  job.raw_budget_bytes = 42;
  job.out = "x.zarr";
  job.metadata = json::Object{{"command_line", json::Array{"crosscut", "run"}}};
  const json::Value written = to_json(job);
  CHECK(to_json(parse_job(written)) == written);
  const Job defaults = job_from(R"({"pattern": "aapc"})");
  for (const auto& [name, value] : written.object())
    CHECK(value != to_json(defaults).at(name));  // every member was changed: none is forgotten
}

TEST(a_window_is_the_job_s_or_the_pattern_s_own) {
  CHECK_EQ(window_of(job_from(R"({"pattern": "aapc"})")), 1);
  CHECK_EQ(window_of(job_from(R"({"pattern": "message-rate"})")), 64);
  CHECK_EQ(window_of(job_from(R"({"pattern": "message-rate", "window": 1})")), 1);
  CHECK_EQ(make_pattern(job_from(R"({"pattern": "aapc", "window": 9})"))->extent(4, 1).window, 9);
}

TEST(a_bad_member_is_named) {
  CHECK_THROWS_SAYING(UsageError, "job: expected an object", job_from("[]"));
  CHECK_THROWS_SAYING(UsageError, "job has no member \"colour\"", job_from(R"({"colour": 1})"));
  CHECK_THROWS_SAYING(UsageError, "job, `pattern`: expected a string", job_from(R"({"pattern": 1})"));
  CHECK_THROWS_SAYING(UsageError, "job, `sync`: \"x\" is not one of: barrier, none",
                      job_from(R"({"sync": "x"})"));
  CHECK_THROWS_SAYING(UsageError, "parameter \"k\": expected a string",
                      job_from(R"({"pattern_parameters": {"k": 4}})"));
  CHECK_THROWS_SAYING(UsageError, "job, `out`: text with a NUL", job_from(R"({"out": "a\u0000b"})"));
}

TEST(every_number_is_bounded) {
  for (const char* text :
       {R"({"pattern": "a", "repetitions": 0})", R"({"pattern": "a", "repetitions": 1e15})",
        R"({"pattern": "a", "sizes": [-1]})", R"({"pattern": "a", "sizes": [1e15]})",
        R"({"pattern": "a", "sizes": [1, 1]})", R"({"pattern": "a", "phases": [0, 3]})",
        R"({"pattern": "a", "phases": [3, 2]})", R"({"pattern": "a", "phases": [3]})",
        R"({"pattern": "a", "seed": -1})", R"({"pattern": "a", "interval": -0.1})",
        R"({"pattern": "a", "warm_up": -1})", R"({"pattern": "a", "iterations": -1})",
        R"({"pattern": "a", "window": -1})", R"({"pattern": "a", "window": 10001})",
        R"({"pattern": "a", "memory_bytes": -1})", R"({"pattern": "a", "time_limit_seconds": 1e12})"})
    CHECK_THROWS(UsageError, job_from(text));
}

TEST(an_interval_of_the_median_needs_six_repetitions) {
  CHECK_THROWS_SAYING(UsageError, "at least 6",
                      job_from(R"({"pattern": "a", "interval": 0.1, "minimum_repetitions": 5})"));
  CHECK_THROWS_SAYING(UsageError, "--repetitions 5 (the maximum, with --interval) is less than",
                      job_from(R"({"pattern": "a", "interval": 0.1, "repetitions": 5})"));
  CHECK_EQ(job_from(R"({"pattern": "a", "repetitions": 5})").repetitions, 5);
}
