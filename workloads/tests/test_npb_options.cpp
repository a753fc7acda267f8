#include <initializer_list>
#include <vector>

#include "npb/program/benchmark_program.hpp"
#include "tests/check.hpp"

using namespace crosscut::npb;
using namespace crosscut::program;

namespace {

Options asked;  // by the last benchmark that ran

Benchmark example(bool takes_grid) {
  return {.about = {.name = "xx", .title = "An example"},
          .takes_grid = takes_grid,
          .unsuitable = [](int, const Options& options) { return asked = options, std::string(); },
          .run = nullptr};
}

auto parse(std::initializer_list<const char*> words, bool takes_grid = false) {
  const auto benchmark = example(takes_grid);
  const auto program = program_of(benchmark);
  Arguments arguments;
  program->declare(arguments);
  const std::vector<const char*> typed(words);
  auto parsed = arguments.parse(typed, [&](ProblemClass one) { program->preset(one); });
  program->unsuitable(1);
  return parsed;
}

std::string problem(std::initializer_list<const char*> words, bool takes_grid = false) {
  const auto parsed = parse(words, takes_grid);
  const auto* found = std::get_if<UsageProblem>(&parsed);
  return found ? found->text : "(none)";
}

}  // namespace

const Benchmark crosscut::npb::benchmark = example(false);

TEST(without_options_it_is_class_s_for_people) {
  const auto common = std::get<Common>(parse({}));
  CHECK_EQ(letter(asked.problem_class), 'S');
  CHECK(!common.json);
}

TEST(a_class_and_json_are_taken) {
  const auto common = std::get<Common>(parse({"--class", "C", "--json"}));
  CHECK_EQ(letter(asked.problem_class), 'C');
  CHECK(common.json);
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
  parse({"--grid", "2x8"}, true);
  CHECK(asked.grid == std::array{2, 8});
  for (const char* text : {"2", "x2", "2x", "2x0", "-2x2", "2x2x2", "2 x 2", "99999999999x1", ""})
    CHECK_EQ(problem({"--grid", text}, true),
             "--grid " + std::string(text) + ": write two numbers of ranks, such as 2x8");
}
