// Properties of every registered pattern, for every choice that it offers: new patterns are tested without
// changes here.
#include "base/error.hpp"
#include "program/in_flight.hpp"
#include "tests/check.hpp"
#include "tests/checking/check_program.hpp"
#include "tests/pattern_cases.hpp"

using namespace crosscut;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

// Long programs are shortened when many numbers of ranks are tried; they are checked once in full.
Given lighter(std::string_view name) {
  if (name == "loaded-pingpong") return {{"messages", "20"}};
  if (name == "congestor") return {{"load", "2MB"}, {"pings", "5"}};
  return {};
}

// The defaults, and each value of each choice and switch with all others at their defaults.
std::vector<Given> settings_of(const PatternInfo& info) {
  std::vector<Given> all{{}};
  for (const Parameter& parameter : info.parameters) {
    for (const std::string_view choice : parameter.choices)
      if (choice != parameter.initial) all.push_back({{std::string(parameter.name), std::string(choice)}});
    if (parameter.kind == Parameter::Kind::boolean)
      all.push_back({{std::string(parameter.name), parameter.initial == "true" ? "false" : "true"}});
  }
  return all;
}

std::string written(const Given& given) {
  std::string text;
  for (const auto& [name, value] : given) text += " --" + name + " " + value;
  return text;
}

// Returns 1 if checked, 0 if the pattern refuses these parameters (and says why).
int check_one(const std::string& name, const Given& given, Rank ranks, std::int64_t bytes,
              const ProgramCheck& check = {}) {
  const auto where = name + written(given) + ", " + std::to_string(ranks) + " ranks: ";
  try {
    for (const auto& [window, rails] : {std::pair{1, 1}, {3, given.contains("rails") ? 1 : 2}}) {
      if (window > 1 && ranks > 12) break;  // they change nothing that depends on the number of ranks
      const std::unique_ptr<Pattern> pattern = in_flight(make_pattern(name, given), window, rails);
      if (!pattern->refuse(ranks).empty()) return 0;
      CHECK_EQ(where + check_program(*pattern, ranks, bytes, check), where);
    }
  } catch (const UsageError& error) {
    CHECK(std::string_view(error.what()).starts_with("pattern " + name + ": "));
    return 0;
  }
  return 1;
}

void check_ranks(const std::vector<Rank>& counts, const ProgramCheck& check) {
  for (const PatternInfo* info : patterns()) {
    int checked = 0;
    for (const Given& given : settings_of(*info))
      for (const Rank ranks : counts)
        checked += check_one(std::string(info->name), given, ranks, 1000, check);
    CHECK(checked >= 1);
  }
}

}  // namespace

TEST(every_pattern_with_few_ranks_runs_to_its_end_and_matches) {
  std::vector<Rank> counts;
  for (Rank ranks = 2; ranks <= 33; ++ranks) counts.push_back(ranks);
  check_ranks(counts, {.most_phases = 12});
}

TEST(every_pattern_with_many_ranks_runs_to_its_end_and_matches) {
  check_ranks({64, 100, 257}, {.most_phases = 3});
}

TEST(every_pattern_with_default_parameters_is_sound) {
  for (const PatternInfo* info : patterns()) CHECK_EQ(check_one(std::string(info->name), {}, 12, 100'000), 1);
}

TEST(every_pattern_with_messages_of_no_byte_or_one_is_sound) {
  for (const std::int64_t bytes : {0, 1})
    for (const PatternInfo* info : patterns())
      for (const Rank ranks : {4, 9}) check_one(std::string(info->name), lighter(info->name), ranks, bytes);
}

TEST(patterns_with_required_parameters_are_sound) {
  const std::vector<std::pair<std::string, Given>> cases = {
      {"pairwise", {{"stride", "1-11"}}},
      {"pairs", {{"pairs", "0-11,3-4,0-5,5-11,1-0"}}},
      {"pairs", {{"pairs", "0..3-4..7"}, {"cumulative", "true"}}},
      {"pingpong", {{"pairs", "all"}, {"mode", "stream"}, {"count", "5"}}},
      {"pingpong", {{"pairs", "0-11,11-0"}, {"mode", "bidirectional"}}},
      {"all-pairs", {{"mode", "transfer"}, {"form", "parallel"}, {"round-trips", "3"}}},
      {"all-pairs", {{"mode", "transfer"}, {"round-trips", "3"}}},
      {"all-pairs", {{"form", "parallel"}, {"round-trips", "2"}}},
      {"streams", {{"senders", "1-8"}, {"streams", "1,4"}, {"receivers", "1-4"}, {"direction", "all"}}},
      {"streams",
       {{"streams", "9"}, {"receiver-ranks", "11,3"}, {"receivers", "1,2"}, {"direction", "both"}}},
      {"chain", {{"segment", "64"}, {"rails", "3"}}},
      {"chain", {{"segment", "1000"}, {"rails", "4"}, {"order", "11,0,5"}}},
      {"chain", {{"segment", "7"}}},
      {"chain", {{"segment", "64"}, {"rails", "2"}, {"lengths", "2-12"}}},
      {"collective", {{"operation", "reduce-scatter"}}},
      {"collective", {{"operation", "all-gather"}}},
      {"collective", {{"operation", "broadcast"}}},
      {"collective", {{"operation", "all-to-all"}}},
      {"collective", {{"operation", "all-to-all-v"}}},
      {"collective", {{"operation", "barrier"}, {"library", "also"}}},
      {"collective", {{"operation", "reduce-scatter"}, {"library", "also"}}},
      {"collective", {{"operation", "all-gather"}, {"library", "also"}}},
      {"collective", {{"operation", "broadcast"}, {"library", "also"}}},
      {"collective", {{"operation", "all-to-all"}, {"library", "also"}}},
      {"collective", {{"operation", "all-to-all-v"}, {"library", "also"}}},
      {"loaded-pingpong", {{"partners", "within"}, {"groups", "0-3/4-8/10"}}},
      {"loaded-pingpong", {{"partners", "across"}, {"groups", "0-3/4-8/10"}}},
      {"loaded-pingpong", {{"partners", "across"}, {"groups", "0,2,4,6/1,3,5,7/8,10,11/9"}}},
      {"loaded-pingpong", {{"partners", "pairs"}, {"pairs", "0-11,3-4"}, {"mix", "0,1,512B"}}},
      {"bisection", {{"half", "0-5"}}},
      {"bisection", {{"half", "0,7,9"}, {"cuts", "3"}}},
      {"congestor", {{"victims", "0,5,11"}, {"fan-in", "2"}, {"load", "3000"}, {"chunk", "1024"}}},
      {"congestor", {{"share", "80"}, {"load", "100KB"}, {"chunk", "1KiB"}, {"pings", "1"}}},
      {"congestor",
       {{"victims", "0,3,5,9,11"},
        {"measure", "all-to-all"},
        {"congest-by", "all-reduce,reduce-scatter,all-gather,broadcast,all-to-all-v"},
        {"load", "3000"},
        {"chunk", "1024"}}},
      {"congestor", {{"share", "60"}, {"measure", "barrier"}, {"load", "3000"}, {"chunk", "1024"}}},
      {"collective", {{"every", "3,2,1"}}},
      {"collective", {{"operation", "broadcast"}, {"library", "also"}, {"every", "4,1"}}},
  };
  for (const auto& [name, given] : cases) {
    const std::string what = name + written(given);
    if (check_one(name, given, 12, 1000) == 0) CHECK_EQ(what, "accepted");
  }
}

TEST(a_program_of_a_rank_among_4096_is_made_without_looking_at_the_others) {
  for (const char* name : {"aapc", "simple-pairwise", "cumulative-pairwise", "pairwise", "all-pairs"}) {
    const std::unique_ptr<Pattern> pattern = make_pattern(name);
    const Extent extent = pattern->extent(4096, 1);
    std::vector<Op> ops;
    for (std::int64_t index = 0; index < extent.phases; ++index)
      pattern->phase(4096, 1, index)->emit(77, ops);
    CHECK(ops.size() <= static_cast<std::size_t>(extent.phases) * 6);
    CHECK(extent.slots <= 2);
  }
}

TEST(every_pattern_describes_itself) {
  std::set<std::string_view> names;
  for (const PatternInfo* info : patterns()) {
    CHECK(names.insert(info->name).second);
    for (const std::string_view text :
         {info->name, info->summary, info->answers, info->formula, info->source})
      CHECK(!text.empty());
    CHECK(info->formula_per == "rank" || info->formula_per == "phase");
    CHECK_EQ(&find_pattern(info->name), info);
    CHECK(info->summary.find('\n') == std::string_view::npos && !info->summary.ends_with('.'));
    for (const Parameter& parameter : info->parameters) {
      CHECK(!parameter.help.empty() && !parameter.help.ends_with('.'));
      CHECK_EQ(parameter.kind == Parameter::Kind::choice, !parameter.choices.empty());
    }
    for (const std::int64_t size : make_pattern(info->name)->default_sizes()) CHECK(size >= 0);
  }
  CHECK(names.contains("aapc") && names.contains("pingpong"));
}

TEST(an_unknown_pattern_is_answered_with_the_nearest_names) {
  CHECK_THROWS_SAYING(UsageError, "did you mean aapc", find_pattern("aacp"));
  CHECK_THROWS_SAYING(UsageError, "simple-pairwise", find_pattern("simple_pairwise"));
  CHECK_THROWS_SAYING(UsageError, "there are pingpong, aapc", find_pattern("zzzzzzzz"));
  CHECK_THROWS_SAYING(UsageError, "\\x1b", find_pattern("\x1b[31mred"));
}
