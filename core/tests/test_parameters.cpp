// Values as people type them, and the messages for mistakes.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::program;

namespace {

const std::vector<Parameter> known = {
    {.name = "count",
     .kind = Parameter::Kind::integer,
     .unit = "messages",
     .initial = "16",
     .minimum = 1,
     .maximum = 100},
    {.name = "share", .kind = Parameter::Kind::real, .initial = "0.5", .maximum = 1},
    {.name = "segment", .kind = Parameter::Kind::bytes, .initial = "64KiB"},
    {.name = "timeout", .kind = Parameter::Kind::seconds, .initial = "30"},
    {.name = "verbose", .kind = Parameter::Kind::boolean, .initial = "false"},
    {.name = "mode", .kind = Parameter::Kind::choice, .initial = "fast", .choices = {"fast", "careful"}},
    {.name = "order", .kind = Parameter::Kind::ranks},
    {.name = "pairs", .kind = Parameter::Kind::pairs},
    {.name = "limit", .kind = Parameter::Kind::integer},
};

Parameters parameters(const std::map<std::string, std::string>& given) { return {known, given, "pattern x"}; }

}  // namespace

TEST(bytes_have_decimal_and_binary_units_and_are_exact) {
  CHECK_EQ(parse_bytes("0"), 0);
  CHECK_EQ(parse_bytes("100"), 100);
  CHECK_EQ(parse_bytes("1.5MB"), 1'500'000);
  CHECK_EQ(parse_bytes("64KiB"), 65'536);
  CHECK_EQ(parse_bytes(" 3 kB "), 3'000);
  CHECK_EQ(parse_bytes("0.1KB"), 100);
  CHECK_EQ(parse_bytes("0.25KiB"), 256);
  CHECK_EQ(parse_bytes("1.123456789012TB"), 1'123'456'789'012);
  CHECK_EQ(parse_bytes("9223372036854775807"), 9'223'372'036'854'775'807);
  CHECK_THROWS_SAYING(UsageError, "whole number of bytes", parse_bytes("0.3B"));
  CHECK_THROWS_SAYING(UsageError, "whole number of bytes", parse_bytes("0.0001KiB"));
  for (const char* wrong :
       {"", " ", "MB", ".", ".MB", "-1", "+1", "1e6", "1M", "1mb", "1.2.3KB", "1 2", "0x10",
        "9223372036854775808", "9300000TB", "99999999999999999999KiB", "1KB;", "nan"})
    CHECK_THROWS(UsageError, parse_bytes(wrong));
}

TEST(seconds_have_units) {
  CHECK_EQ(parse_seconds("30"), 30.0);
  CHECK_EQ(parse_seconds("5ms"), 0.005);
  CHECK_EQ(parse_seconds("1.5 us"), 1.5e-6);
  CHECK_EQ(parse_seconds("2min"), 120.0);
  CHECK_EQ(parse_seconds("1e-3"), 0.001);
  for (const char* wrong : {"", "s", "-1", "5 m", "1e999", "inf", "nan", "1h30"})
    CHECK_THROWS(UsageError, parse_seconds(wrong));
}

TEST(numbers_and_booleans_are_strict) {
  CHECK_EQ(parse_integer("-12"), -12);
  CHECK_EQ(parse_real("-1.5e3"), -1500.0);
  CHECK(parse_boolean("true") && !parse_boolean("false"));
  for (const char* wrong : {"", "1.0", "12a", "9223372036854775808", "0x1"})
    CHECK_THROWS(UsageError, parse_integer(wrong));
  for (const char* wrong : {"", "nan", "inf", "1e999", "1,5"}) CHECK_THROWS(UsageError, parse_real(wrong));
  for (const char* wrong : {"", "yes", "1", "True"}) CHECK_THROWS(UsageError, parse_boolean(wrong));
}

TEST(ranks_are_lists_and_ranges) {
  CHECK_EQ(parse_ranks("0,4,8-11"), (RankList{0, 4, 8, 9, 10, 11}));
  CHECK_EQ(parse_ranks("0-20:8"), (RankList{0, 8, 16}));
  CHECK_EQ(parse_ranks("7 3\n5 # the slow one\n"), (RankList{7, 3, 5}));
  CHECK_THROWS_SAYING(UsageError, "4 is named twice", parse_ranks("0-5,4"));
  CHECK_THROWS_SAYING(UsageError, "write 3-5", parse_ranks("5-3"));
  CHECK_THROWS_SAYING(UsageError, "step", parse_ranks("0-8:0"));
  CHECK_THROWS_SAYING(UsageError, "more than 1048576", parse_ranks("0-2000000000"));
  for (const char* wrong :
       {"", ",", "a", "-1", "1-", "-", "1--2", "1-2-3", "1.5", "99999999999", "2147483647", "1-2:", "1-2:x"})
    CHECK_THROWS(UsageError, parse_ranks(wrong));
}

TEST(pairs_are_lists_and_ranges) {
  CHECK_EQ(parse_pairs("0-1,2-3"), (PairList{{0, 1}, {2, 3}}));
  CHECK_EQ(parse_pairs("0..2-8..10"), (PairList{{0, 8}, {1, 9}, {2, 10}}));
  CHECK_EQ(parse_pairs("0..4:2-9..5:2"), (PairList{{0, 9}, {2, 7}, {4, 5}}));
  CHECK_EQ(parse_pairs("1-0\n# both orders are two\n0-1"), (PairList{{1, 0}, {0, 1}}));
  CHECK_THROWS_SAYING(UsageError, "itself", parse_pairs("3-3"));
  CHECK_THROWS_SAYING(UsageError, "both sides need the same number", parse_pairs("0..3-4..6"));
  CHECK_THROWS_SAYING(UsageError, "named twice", parse_pairs("0-1,0-1"));
  for (const char* wrong : {"", "0", "0-", "-1", "0-1-2", "0..1", "a-b", "0..999999999-0..999999999"})
    CHECK_THROWS(UsageError, parse_pairs(wrong));
}

TEST(sizes_are_a_list_without_repetition) {
  CHECK_EQ(parse_sizes("1KB,3KB, 1MB"), (std::vector<std::int64_t>{1'000, 3'000, 1'000'000}));
  CHECK_THROWS_SAYING(UsageError, "1000 is named twice", parse_sizes("1KB,1000"));
  CHECK_THROWS(UsageError, parse_sizes("1KB,,2KB"));
  CHECK_THROWS(UsageError, parse_sizes(""));
}

TEST(defaults_fill_in_what_is_not_given) {
  const Parameters values = parameters({{"count", "7"}, {"segment", "1KB"}, {"timeout", "5ms"}});
  CHECK_EQ(values.integer("count"), 7);
  CHECK_EQ(values.integer("segment"), 1000);
  CHECK_EQ(values.real("timeout"), 0.005);
  CHECK_EQ(values.real("share"), 0.5);
  CHECK_EQ(values.text("mode"), "fast");
  CHECK(!values.boolean("verbose"));
  CHECK(values.ranks("order").empty() && values.pairs("pairs").empty());
  CHECK(values.given("count") && !values.given("share"));
  CHECK_EQ(values.all().size(), known.size());
  CHECK_THROWS_SAYING(UsageError, "--limit has no value", values.integer("limit"));
  CHECK_THROWS(std::logic_error, values.integer("undeclared"));
}

TEST(complete_values_are_read_back_unchanged) {
  const Parameters once = parameters({{"order", "3,1"}, {"mode", "careful"}});
  CHECK(parameters(once.all()).all() == once.all());
}

TEST(mistakes_name_owner_parameter_and_valid_values) {
  CHECK_THROWS_SAYING(UsageError, "pattern x has no parameter \"segmnt\"; did you mean segment?",
                      parameters({{"segmnt", "1"}}));
  CHECK_THROWS_SAYING(UsageError,
                      "pattern x: --count: \"0\" is out of range; it must be from 1 to 100 messages",
                      parameters({{"count", "0"}}));
  CHECK_THROWS_SAYING(UsageError, "--share", parameters({{"share", "1.01"}}));
  CHECK_THROWS_SAYING(UsageError, "did you mean careful?", parameters({{"mode", "carefull"}}));
  CHECK_THROWS_SAYING(UsageError, "--verbose", parameters({{"verbose", "maybe"}}));
  CHECK_THROWS_SAYING(UsageError, "--count", parameters({{"count", ""}}));
  CHECK_THROWS_SAYING(UsageError, "--segment", parameters({{"segment", "-1"}}));
}

// A job may come from anywhere, for example from a stranger's run.
TEST(a_value_never_names_a_file_to_read) {
  const auto path = std::filesystem::temp_directory_path() / ("crosscut-pairs-" + std::to_string(::getpid()));
  std::ofstream(path) << "0-8\n";
  CHECK_THROWS_SAYING(UsageError, "--pairs", parameters({{"pairs", "@" + path.string()}}));
  std::filesystem::remove(path);
}

TEST(bytes_are_shown_in_three_digits) {
  CHECK_EQ(about_bytes(0), "0 B");
  CHECK_EQ(about_bytes(999), "999 B");
  CHECK_EQ(about_bytes(999'999), "1 MB");
  CHECK_EQ(about_bytes(2'147'483'648), "2.15 GB");
  CHECK_EQ(about_bytes(std::numeric_limits<std::int64_t>::max()), "9.22 EB");
  CHECK_EQ(about_bytes(-1), "too many bytes");
}

TEST(hostile_text_is_shown_harmless_and_short) {
  CHECK_EQ(shown("a\x1b[2Jb\n"), "\"a\\x1b[2Jb\\x0a\"");
  CHECK(shown(std::string(100'000, 'x')).size() < 100);
  const std::vector<std::string_view> names = {"aapc", "pairs"};
  CHECK_EQ(suggestion("papirs", names), "; did you mean pairs?");
  CHECK_EQ(suggestion(std::string(100'000, 'a'), names), "; there are aapc, pairs");
  CHECK_EQ(suggestion("unlike", names, "see the list"), "; see the list");
}
