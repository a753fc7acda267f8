#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "program/arguments.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::program;
using namespace crosscut::program;

namespace {

enum class Colour { red, green };
constexpr std::array<std::string_view, 2> colours{"red", "green"};

struct Example {
  std::int64_t count = 0;
  double share = 0;
  Colour colour = Colour::red;
  std::vector<std::int64_t> sizes;

  std::variant<Common, UsageProblem, HelpAsked> parse(std::initializer_list<const char*> words) {
    Arguments arguments;
    arguments.whole("--count", "N", count, {1, 100}, "how many");
    arguments.number("--share", "X", share, 10, "how much");
    arguments.choice("--colour", colours, colour, "which");
    arguments.sizes("--sizes", sizes, {8, 1 << 20}, "of what");
    const std::vector<const char*> typed(words);
    return arguments.parse(typed, [this](ProblemClass one) { count = one == ProblemClass::W ? 50 : 5; });
  }
  std::string problem(std::initializer_list<const char*> words) {
    const auto parsed = parse(words);
    const auto* found = std::get_if<UsageProblem>(&parsed);
    return found ? found->text : "(none)";
  }
};

}  // namespace

TEST(values_go_where_they_belong) {
  Example example;
  const auto common =
      std::get<Common>(example.parse({"--count", "7", "--share", "0.25", "--colour", "green", "--json"}));
  CHECK(common.json);
  CHECK_EQ(example.count, 7);
  CHECK_EQ(example.share, 0.25);
  CHECK(example.colour == Colour::green);
}

TEST(a_class_sets_what_is_not_given_wherever_it_stands) {
  Example example;
  example.parse({});
  CHECK_EQ(example.count, 5);
  example.parse({"--class", "W"});
  CHECK_EQ(example.count, 50);
  example.parse({"--count", "7", "--class", "W"});
  CHECK_EQ(example.count, 7);
}

TEST(sizes_are_written_with_units) {
  Example example;
  example.parse({"--sizes", "8,1KiB,2kB,1MiB,16B"});
  CHECK(example.sizes == std::vector<std::int64_t>({8, 1024, 2000, 1 << 20, 16}));
  CHECK_EQ(size_text(65536), "64 KiB");
  CHECK_EQ(size_text(1 << 20), "1 MiB");
  CHECK_EQ(size_text(1000), "1000 B");
}

TEST(what_is_wrong_is_named_with_what_would_be_right) {
  Example example;
  CHECK_EQ(example.problem({"--counts", "1"}), "there is no option '--counts'");
  CHECK_EQ(example.problem({"1"}), "there is no option '1'");
  CHECK_EQ(example.problem({"--count"}), "--count needs a value");
  CHECK_EQ(example.problem({"--class", "Z"}), "--class Z: there is no such class; there is S, W, A, B, C");
  CHECK_EQ(example.problem({"--colour", "blue"}), "--colour blue: choose one of red, green");
  for (const char* text : {"", "0", "101", "1.5", "-3", "x", "7x", " 7", "99999999999999999999"})
    CHECK_EQ(example.problem({"--count", text}),
             "--count " + std::string(text) + ": write a whole number from 1 to 100");
  for (const char* text : {"", "-1", "10.5", "nan", "inf", "1e999", "x"})
    CHECK_EQ(example.problem({"--share", text}),
             "--share " + std::string(text) + ": write a number from 0 to 10");
  for (const char* text : {"", ",", "8,", "7", "2MiB", "1GB", "-8", "KiB", "8 KiB", "99999999999999999999"})
    CHECK_EQ(example.problem({"--sizes", text}),
             "--sizes " + std::string(text) + ": write sizes from 8 B to 1 MiB, such as 1KiB,64KiB");
}

TEST(help_is_asked_for_among_anything) {
  Example example;
  CHECK(std::holds_alternative<HelpAsked>(example.parse({"--help"})));
  CHECK(std::holds_alternative<HelpAsked>(example.parse({"--count", "7", "-h"})));
}
