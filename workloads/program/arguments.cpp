#include "program/arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace crosscut::program {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Unit, 6> units{
    {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"kB", 1000}, {"MB", 1000000}, {"B", 1}, {"", 1}}};

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [at, problem] = std::from_chars(begin, end, value);
  if (problem != std::errc() || at != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = std::ranges::find(units, text.substr(digits), &Unit::name);
  const auto value = parse_number<std::int64_t>(text.substr(0, digits));
  if (!value || unit == units.end() || *value > std::numeric_limits<std::int64_t>::max() / unit->bytes)
    return std::nullopt;
  return *value * unit->bytes;
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

// Returns the problem, or an empty text.
std::string take_sizes(std::string_view typed, std::vector<std::int64_t>& into, Arguments::Bounds bounds) {
  std::vector<std::int64_t> found;
  for (std::size_t begin = 0; begin <= typed.size();) {
    const std::size_t end = std::min(typed.find(',', begin), typed.size());
    const auto size = parse_size(typed.substr(begin, end - begin));
    if (!size || *size < bounds.least || *size > bounds.most)
      return "write sizes from " + size_text(bounds.least) + " to " + size_text(bounds.most) +
             ", such as 1KiB,64KiB";
    found.push_back(*size);
    begin = end + 1;
  }
  into = std::move(found);
  return "";
}

}  // namespace

std::string size_text(std::int64_t bytes) {
  for (const std::size_t at : {std::size_t{1}, std::size_t{0}})
    if (bytes > 0 && bytes % units[at].bytes == 0)
      return std::to_string(bytes / units[at].bytes) + " " + std::string(units[at].name);
  return std::to_string(bytes) + " B";
}

void Arguments::add(std::string_view name, std::string_view placeholder, std::string_view help,
                    std::function<std::string(std::string_view)> take) {
  arguments_.push_back({std::string(name), std::string(placeholder), std::string(help), std::move(take)});
}

void Arguments::whole(std::string_view name, std::string_view placeholder, std::int64_t& into, Bounds bounds,
                      std::string_view help) {
  add(name, placeholder, help, [&into, bounds](std::string_view typed) -> std::string {
    const auto value = parse_number<std::int64_t>(typed);
    if (!value || *value < bounds.least || *value > bounds.most)
      return "write a whole number from " + std::to_string(bounds.least) + " to " +
             std::to_string(bounds.most);
    into = *value;
    return "";
  });
}

void Arguments::number(std::string_view name, std::string_view placeholder, double& into, double most,
                       std::string_view help) {
  add(name, placeholder, help, [&into, most](std::string_view typed) -> std::string {
    const auto value = parse_number<double>(typed);
    if (!value || !std::isfinite(*value) || *value < 0 || *value > most)
      return "write a number from 0 to " + std::to_string(static_cast<std::int64_t>(most));
    into = *value;
    return "";
  });
}

void Arguments::sizes(std::string_view name, std::vector<std::int64_t>& into, Bounds bounds,
                      std::string_view help) {
  add(name, "SIZES", help,
      [&into, bounds](std::string_view typed) { return take_sizes(typed, into, bounds); });
}

void Arguments::add_choice(std::string_view name, std::span<const std::string_view> words,
                           std::function<void(std::size_t)> into, std::string_view help) {
  add(name, joined(words), help, [into = std::move(into), words](std::string_view typed) -> std::string {
    const auto found = std::ranges::find(words, typed);
    if (found == words.end()) return "choose one of " + joined(words);
    into(static_cast<std::size_t>(found - words.begin()));
    return "";
  });
}

std::variant<Common, UsageProblem, HelpAsked> Arguments::parse(
    std::span<const char* const> words, const std::function<void(ProblemClass)>& preset) const {
  Common common;
  std::vector<std::pair<const Argument*, std::string_view>> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--help" || word == "-h") return HelpAsked{};
    if (word == "--json") {
      common.json = true;
      continue;
    }
    const auto found = std::ranges::find(arguments_, word, &Argument::name);
    if (word != "--class" && found == arguments_.end())
      return UsageProblem{"there is no option '" + std::string(word) + "'"};
    if (i + 1 == words.size()) return UsageProblem{std::string(word) + " needs a value"};
    const std::string_view value = words[++i];
    if (word != "--class") {
      given.emplace_back(&*found, value);
      continue;
    }
    const auto parsed = npb::parse_class(value);
    if (!parsed)
      return UsageProblem{"--class " + std::string(value) +
                          ": there is no such class; there is S, W, A, B, C"};
    common.problem_class = *parsed;
  }
  preset(common.problem_class);
  for (const auto& [argument, value] : given)
    if (const std::string problem = argument->take(value); !problem.empty())
      return UsageProblem{argument->name + ' ' + std::string(value) + ": " + problem};
  return common;
}

std::string Arguments::help() const {
  std::string text;
  for (const Argument& one : arguments_)
    text += "  " + one.name + ' ' + one.placeholder + "\n        " + one.help + '\n';
  return text;
}

}  // namespace crosscut::program
