#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "session/session_config.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::session;

namespace {

const std::string secret(64, 'a');

std::string line_with(const std::string& members) {
  return "{\"ranks\": 8, \"secret\": \"" + secret + "\"" + (members.empty() ? "" : ", " + members) + "}";
}

std::string tree_with(const std::string& hosts) {
  return line_with("\"count\": 2, \"tree\": {\"command\": [\"ssh\"], \"core\": \"/c\", \"hosts\": [" + hosts +
                   "]}");
}

SessionConfig layout_at(const char* index, const char* processes) {
  ::setenv("SLURM_PROCID", index, 1);
  ::setenv("SLURM_NTASKS", processes, 1);
  ::setenv("SLURMD_NODENAME", "n7", 1);
  SessionConfig config = parse_session(line_with(R"("layout": [3, 3, 2], "launcher": "slurm")"));
  apply_layout(config);
  return config;
}

}  // namespace

TEST(a_minimal_configuration_means_all_ranks_on_this_node) {
  const SessionConfig config = parse_session(line_with(""));
  CHECK_EQ(config.first_rank, 0);
  CHECK_EQ(config.count, 8);
  CHECK(config.has_conductor());
  CHECK(config.pin);
}

TEST(a_written_configuration_is_read_back) {
  const std::string hosts =
      R"({"host": "n2", "first_rank": 2, "count": 3}, {"host": "n3", "first_rank": 5, "count": 3})";
  SessionConfig config = parse_session(tree_with(hosts));
  config.conductor = "10.0.0.1:4000";
  config.pin_cores = {0, 2};
  config.oversubscribed = true;
  const json::Value written = to_json(config);
  CHECK(to_json(parse_session(json::write(written))) == written);
}

TEST(errors_name_the_member) {
  CHECK_THROWS_SAYING(UsageError, "`ranks`", parse_session(R"({"ranks": 0})"));
  CHECK_THROWS_SAYING(UsageError, "`ranks`: expected", parse_session(R"({"ranks": "many"})"));
  CHECK_THROWS_SAYING(UsageError, "\"colour\"", parse_session(line_with(R"("colour": 1)")));
  CHECK_THROWS_SAYING(UsageError, "do not fit", parse_session(line_with(R"("first_rank": 7, "count": 2)")));
  CHECK_THROWS_SAYING(UsageError, "do not fit", parse_session(line_with(R"("first_rank": 8)")));
  CHECK_THROWS_SAYING(UsageError, "timeout_seconds", parse_session(line_with(R"("timeout_seconds": -1)")));
  CHECK_THROWS_SAYING(UsageError, "`conductor`: expected", parse_session(line_with(R"("conductor": 5)")));
  CHECK_THROWS(UsageError, parse_session(line_with(R"("conductor": "nonsense")")));
  CHECK_THROWS(UsageError, parse_session("[]"));
  CHECK_THROWS(UsageError, parse_session("garbage"));
}

TEST(a_bad_secret_is_refused_without_repeating_it) {
  for (const std::string& bad : {std::string("c0ffee"), std::string(64, 'x')}) {
    try {
      parse_session("{\"ranks\": 2, \"secret\": \"" + bad + "\"}");
      CHECK(false);
    } catch (const UsageError& error) {
      CHECK(std::string(error.what()).find(bad) == std::string::npos);
    }
  }
}

TEST(a_host_name_cannot_be_an_option_or_a_command) {
  for (const std::string host : {"-oProxyCommand=reboot", "a;b", "a b", "$(id)", ""})
    CHECK_THROWS(UsageError,
                 parse_session(tree_with("{\"host\": \"" + host + "\", \"first_rank\": 2, \"count\": 6}")));
}

TEST(every_rank_is_started_once) {
  CHECK_THROWS_SAYING(UsageError, "started by two",
                      parse_session(tree_with(R"({"host": "n2", "first_rank": 1, "count": 7})")));
  CHECK_THROWS_SAYING(UsageError, "rank 2 is started by no host",
                      parse_session(tree_with(R"({"host": "n2", "first_rank": 3, "count": 5})")));
  CHECK_THROWS_SAYING(UsageError, "the hosts start 7 ranks",
                      parse_session(tree_with(R"({"host": "n2", "first_rank": 2, "count": 5})")));
}

TEST(a_simulated_session_names_its_network) {
  const auto config =
      parse_session(R"({"ranks": 0, "backend": "sim", "network": "xibalba-er16", "ranks_per_host": 2})");
  CHECK_EQ(config.ranks, 0);
  CHECK_EQ(config.network, "xibalba-er16");
  CHECK_EQ(config.ranks_per_host, 2);
  auto given = config;
  given.secret = secret;
  const auto again = parse_session(json::write(to_json(given)));
  CHECK_EQ(again.network, config.network);
  CHECK_EQ(again.ranks_per_host, config.ranks_per_host);
  CHECK_THROWS_SAYING(UsageError, "no `network`", parse_session(R"({"ranks": 0, "backend": "sim"})"));
  CHECK_THROWS_SAYING(UsageError, "`network`", parse_session(R"({"network": ""})"));
  CHECK_THROWS_SAYING(UsageError, "`network`", parse_session(R"({"network": "a\u0000b"})"));
  CHECK_THROWS_SAYING(UsageError, "ranks_per_host", parse_session(R"({"ranks_per_host": 0})"));
}

TEST(a_layout_finds_this_nodes_ranks) {
  const SessionConfig last = layout_at("2", "3");
  CHECK_EQ(last.first_rank, 6);
  CHECK_EQ(last.count, 2);
  CHECK_EQ(last.host, "n7");
  CHECK_EQ(layout_at("0", "3").count, 3);
}

TEST(a_layout_that_does_not_fit_the_launcher_is_refused) {
  CHECK_THROWS_SAYING(UsageError, "process 0 of 8", layout_at("0", "8"));
  CHECK_THROWS(UsageError, layout_at("3", "3"));
  CHECK_THROWS(UsageError, layout_at("-1", "3"));
  CHECK_THROWS_SAYING(UsageError, "holds 3",
                      parse_session(line_with(R"("layout": [3], "launcher": "slurm")")));
  SessionConfig config = parse_session(line_with(R"("layout": [8], "launcher": "other")"));
  CHECK_THROWS_SAYING(UsageError, "no launcher 'other'", apply_layout(config));
}

TEST(a_line_is_read_and_not_a_byte_more) {
  const Pipe pipe = make_pipe();
  CHECK_EQ(::write(pipe.write.get(), "first\nsecond", 12), 12);
  CHECK_EQ(read_line(pipe.read.get(), 100, after_seconds(5)).value(), "first");
  char rest[16] = {};
  CHECK_EQ(::read(pipe.read.get(), rest, sizeof rest), 6);
  CHECK_EQ(std::string(rest), "second");
}

TEST(a_line_has_a_largest_length_an_end_and_a_deadline) {
  Pipe pipe = make_pipe();
  CHECK_EQ(::write(pipe.write.get(), "123456", 6), 6);
  CHECK_THROWS_SAYING(UsageError, "longer than 4", read_line(pipe.read.get(), 4, after_seconds(5)));
  CHECK_THROWS_SAYING(UsageError, "the launcher did not send the session's configuration",
                      read_line(pipe.read.get(), 100, after_seconds(0.01)));
  CHECK_EQ(::write(pipe.write.get(), "half", 4), 4);
  pipe.write.reset();
  CHECK_THROWS_SAYING(UsageError, "in the middle", read_line(pipe.read.get(), 100, after_seconds(5)));
  CHECK(!read_line(pipe.read.get(), 100, after_seconds(5)));
}

TEST(the_secret_leaves_the_environment) {
  ::setenv("CROSSCUT_SECRET", secret.c_str(), 1);
  CHECK_EQ(secret_from_environment(), secret);
  CHECK(std::getenv("CROSSCUT_SECRET") == nullptr);
  CHECK_EQ(secret_from_environment(), "");
}

TEST(random_secrets_differ_and_become_bytes) {
  const std::string one = random_secret();
  CHECK_EQ(one.size(), 64U);
  CHECK(one != random_secret());
  CHECK_EQ(bytes_of_secret(one).size(), 32U);
  CHECK_EQ(bytes_of_secret("00fF7a"), std::string("\x00\xff\x7a", 3));
}
