#include "base/error.hpp"
#include "base/json.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using json::Array;
using json::Object;
using json::parse;
using json::Value;
using json::write;

TEST(values_of_every_kind_are_read) {
  const Value value = parse(R"( {"a": [1, -2.5e3, true, false, null, "x"], "b": {"c": {}}} )");
  const Array& list = value.at("a").array();
  CHECK_EQ(list[0].integer(), 1);
  CHECK_EQ(list[1].number(), -2500.0);
  CHECK(list[2].boolean() && !list[3].boolean() && list[4].is_null());
  CHECK_EQ(list[5].string(), "x");
  CHECK(value.at("b").at("c").object().empty());
  CHECK(value.find("absent") == nullptr);
}

TEST(text_is_unescaped_and_escaped_again) {
  CHECK_EQ(parse(R"("\"\\\/\b\f\n\r\t\u00e4\u20ac\ud83d\ude00")").string(),
           "\"\\/\b\f\n\r\t\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  CHECK_EQ(write(Value("tab\t nul\x01 \"quote\"")), R"("tab\t nul\u0001 \"quote\"")");
}

TEST(bytes_that_are_not_utf8_are_refused_when_read_and_replaced_when_written) {
  for (const char* bad :
       {"\"\x80\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xE2\x82\"", "\"\xFF\""})
    CHECK_THROWS_SAYING(UsageError, "UTF-8", parse(bad));
  CHECK_EQ(write(Value(std::string("a\xFF"
                                   "b"))),
           "\"a\xEF\xBF\xBD"
           "b\"");
}

TEST(malformed_text_is_refused_with_line_and_column) {
  CHECK_THROWS_SAYING(UsageError, "line 2, column 9: expected ',' or '}'", parse("{\n \"a\": 1 \"b\": 2}"));
  CHECK_THROWS_SAYING(UsageError, "line 1, column 13: duplicate key \"a\"", parse(R"({"\u0061":1,"a":2})"));
  CHECK_THROWS_SAYING(UsageError, "text after the end", parse("1 2"));
  for (const char* bad : {"",
                          " ",
                          "{",
                          "[",
                          "[1,]",
                          "[1 2]",
                          "{\"a\"}",
                          "{\"a\":}",
                          "{a:1}",
                          "{,}",
                          "tru",
                          "nul",
                          "01",
                          "+1",
                          "-",
                          "1.",
                          ".5",
                          "1e",
                          "1e+",
                          "0x10",
                          "NaN",
                          "Infinity",
                          "-Infinity",
                          "'a'",
                          "\"a",
                          "\"\\x\"",
                          "\"\\u12\"",
                          "\"\\u12g4\"",
                          "\"\\ud800\"",
                          "\"\\ud800\\u0041\"",
                          "\"\\udc00\"",
                          "\"\n\"",
                          "[1]]",
                          "\xEF\xBB\xBF{}",
                          "/**/1"})
    CHECK_THROWS_SAYING(UsageError, "line ", parse(bad));
}

TEST(numbers_out_of_range_are_refused) {
  CHECK_EQ(parse("9223372036854775807").integer(), INT64_MAX);
  CHECK_EQ(parse("-9223372036854775808").integer(), INT64_MIN);
  CHECK_THROWS_SAYING(UsageError, "out of range", parse("9223372036854775808"));
  CHECK_THROWS_SAYING(UsageError, "out of range", parse("1e999"));
  CHECK_THROWS(UsageError, parse("1e19").integer());
  CHECK_THROWS(UsageError, parse("1.5").integer());
  CHECK_EQ(parse("3.0").integer(), 3);
}

TEST(depth_size_and_number_of_values_are_bounded) {
  CHECK(parse(std::string(64, '[') + std::string(64, ']')).is_array());
  CHECK_THROWS_SAYING(UsageError, "levels deep", parse(std::string(65, '[') + std::string(65, ']')));
  CHECK_THROWS_SAYING(UsageError, "levels deep", parse(std::string(1'000'000, '[')));
  CHECK_THROWS_SAYING(UsageError, "at most 4 are read", parse("[1, 2]", {.bytes = 4}));
  CHECK_THROWS_SAYING(UsageError, "more than 3 values", parse("[1,2,3]", {.values = 3}));
}

TEST(what_is_written_is_read_back_equal) {
  const Value value = Object{{"reals", Array{0.1, 1e-300, 2.0, -0.0, 1e300}},
                             {"integers", Array{0, INT64_MIN, INT64_MAX}},
                             {"nested", Array{Object{{"x", nullptr}}, Array{}}},
                             {"empty", Object{}}};
  for (const int indent : {0, 2}) CHECK(parse(write(value, indent)) == value);
  CHECK_EQ(write(Value(2.0)), "2.0");
  CHECK_EQ(write(Array{Value(0.0 / 0.0), Value(1.0 / 0.0)}), "[null, null]");
  CHECK_EQ(write(value.at("empty"), 2), "{}");
}

TEST(metadata_is_indented_with_plain_lists_on_one_line) {
  CHECK_EQ(write(Object{{"a", Array{1, 2}}, {"b", Array{Array{}}}}, 2),
           "{\n  \"a\": [1, 2],\n  \"b\": [\n    []\n  ]\n}");
  CHECK_EQ(write(Object{{"a", 1}, {"b", 2}}), R"({"a": 1, "b": 2})");
}

TEST(a_value_of_the_wrong_type_is_named) {
  CHECK_THROWS_SAYING(UsageError, "expected a string, found an object", Value(Object{}).string());
  CHECK_THROWS_SAYING(UsageError, "expected true or false, found a number", Value(1).boolean());
  CHECK_THROWS_SAYING(UsageError, "missing member \"x\"", Value(Object{}).at("x"));
  CHECK_THROWS_SAYING(UsageError, "expected an object, found null", Value().at("x"));
}

TEST(set_adds_and_replaces_and_keeps_the_order) {
  Value value;
  value.set("b", 1);
  value.set("a", 2);
  value.set("b", 3);
  CHECK_EQ(write(value), R"({"b": 3, "a": 2})");
}
