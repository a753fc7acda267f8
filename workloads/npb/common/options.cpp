#include "npb/common/options.hpp"

#include <charconv>
#include <cstddef>
#include <string_view>

namespace crosscut::npb {

namespace {

std::optional<int> parse_positive(std::string_view text) {
  int value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [at, problem] = std::from_chars(begin, end, value);
  if (problem != std::errc() || at != end || value < 1) return std::nullopt;
  return value;
}

// "2x8".
std::optional<std::array<int, 2>> parse_grid(std::string_view text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  const auto first = parse_positive(text.substr(0, cross));
  const auto second = parse_positive(text.substr(cross + 1));
  if (!first || !second) return std::nullopt;
  return std::array{*first, *second};
}

// The problem, or empty.
std::string take(Options& options, std::string_view name, std::string_view value) {
  const std::string typed = std::string(name) + ' ' + std::string(value);
  if (name == "--class") {
    const auto found = parse_class(value);
    if (!found) return typed + ": there is no such class; there is S, W, A, B, C";
    options.problem_class = *found;
    return "";
  }
  options.grid = parse_grid(value);
  return options.grid ? "" : typed + ": write two numbers of ranks, such as 2x8";
}

}  // namespace

std::variant<Options, UsageProblem, HelpAsked> parse_options(std::span<const char* const> words,
                                                             bool takes_grid) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--help" || word == "-h") return HelpAsked{};
    if (word == "--json") {
      options.json = true;
      continue;
    }
    if (word != "--class" && (word != "--grid" || !takes_grid))
      return UsageProblem{"there is no option '" + std::string(word) + "'"};
    if (i + 1 == words.size()) return UsageProblem{std::string(word) + " needs a value"};
    if (std::string problem = take(options, word, words[++i]); !problem.empty())
      return UsageProblem{std::move(problem)};
  }
  return options;
}

std::string usage(const Benchmark& about) {
  std::string text = "usage: mpiexec -n RANKS crosscut-npb-" + std::string(about.name) +
                     " [--class CLASS] [--json]" + (about.takes_grid ? " [--grid AxB]" : "") + "\n\n" +
                     std::string(about.title) +
                     "\n\n"
                     "  --class CLASS   S (the default), W, A, B or C: the size\n"
                     "  --json          one JSON object on standard output, in place of text for people\n";
  if (about.takes_grid)
    text +=
        "  --grid AxB      ranks along y and z; without it 1 x RANKS (slabs) while there are enough planes\n";
  return text + "\nexit status: 0 verified; 1 not verified, or MPI failed; 2 wrong usage\n";
}

}  // namespace crosscut::npb
