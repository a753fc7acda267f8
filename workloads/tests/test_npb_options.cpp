#include <initializer_list>
#include <vector>

#include "npb/common/options.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;

namespace {

auto parse(std::initializer_list<const char*> words, bool takes_grid = false) {
  const std::vector<const char*> typed(words);
  return parse_options(typed, takes_grid);
}

std::string problem(std::initializer_list<const char*> words, bool takes_grid = false) {
  const auto parsed = parse(words, takes_grid);
  const auto* found = std::get_if<UsageProblem>(&parsed);
  return found ? found->text : "(none)";
}

}  // namespace

TEST(without_options_it_is_class_s_for_people) {
  const auto options = std::get<Options>(parse({}));
  CHECK_EQ(letter(options.problem_class), 'S');
  CHECK(!options.json);
}

TEST(a_class_and_json_are_taken) {
  const auto options = std::get<Options>(parse({"--class", "C", "--json"}));
  CHECK_EQ(letter(options.problem_class), 'C');
  CHECK(options.json);
}

TEST(every_class_is_known_by_its_letter) {
  for (const char one : class_letters) CHECK_EQ(letter(*parse_class({&one, 1})), one);
  for (const char* text : {"", "s", "D", "SW", " S"}) CHECK(!parse_class(text));
}

TEST(what_is_wrong_is_named) {
  CHECK_EQ(problem({"--class", "Z"}), "--class Z: there is no such class; there is S, W, A, B, C");
  CHECK_EQ(problem({"--class"}), "--class needs a value");
  CHECK_EQ(problem({"--clas", "S"}), "there is no option '--clas'");
  CHECK_EQ(problem({"S"}), "there is no option 'S'");
}

TEST(a_grid_is_for_those_that_take_one) {
  CHECK_EQ(problem({"--grid", "2x2"}), "there is no option '--grid'");
  const auto options = std::get<Options>(parse({"--grid", "2x8"}, true));
  REQUIRE(options.grid.has_value());
  CHECK_EQ((*options.grid)[0], 2);
  CHECK_EQ((*options.grid)[1], 8);
  for (const char* text : {"2", "x2", "2x", "2x0", "-2x2", "2x2x2", "2 x 2", "99999999999x1", ""})
    CHECK_EQ(problem({"--grid", text}, true),
             "--grid " + std::string(text) + ": write two numbers of ranks, such as 2x8");
}
