// Expands ranges of names.
#include <algorithm>
#include <cctype>
#include <cstdint>

#include "base/error.hpp"
#include "base/words.hpp"
#include "networks/explicit_graph.hpp"
#include "program/parameters.hpp"

namespace crosscut::networks {
namespace {

constexpr std::size_t most_digits = 12;
constexpr std::size_t longest_text = 255;

[[noreturn]] void not_names(std::string_view text, const std::string& why) {
  throw UsageError(shown(text) + " is not a name or a range of names: " + why +
                   R"(; write "n12" or "n[000-015,020]")");
}

struct Range {
  std::int64_t first = 0, last = 0;
  std::size_t digits = 0;  // with leading zeros
};

std::int64_t number(std::string_view digits, std::string_view text) {
  if (digits.empty() || digits.size() > most_digits ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    not_names(text, shown(digits) + " is not a number");
  return program::parse_integer(digits);
}

std::vector<Range> ranges_of(std::string_view inside, std::string_view text) {
  std::vector<Range> ranges;
  for (const auto word : split(inside, ',')) {
    const auto dash = word.find('-');
    const auto first = word.substr(0, dash);
    const auto last = dash == std::string_view::npos ? first : word.substr(dash + 1);
    ranges.push_back({number(first, text), number(last, text), first.size()});
    if (ranges.back().last < ranges.back().first) not_names(text, shown(word) + " runs backwards");
  }
  return ranges;
}

void check_plain(std::string_view part, std::string_view text) {
  const auto is_right = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  };
  if (!std::ranges::all_of(part, is_right))
    not_names(text, "names are made of letters, digits, '.', '-' and '_'");
}

// Appends every continuation to each name so far.
void multiply(std::vector<std::string>& names, const std::vector<Range>& ranges, std::size_t room,
              std::string_view text) {
  double count = 0;
  for (const auto& range : ranges) count += static_cast<double>(range.last - range.first + 1);
  if (count * static_cast<double>(names.size()) > static_cast<double>(room))
    throw UsageError(shown(text) + " makes more names than are possible here (" + std::to_string(room) + ")");
  std::vector<std::string> longer;
  longer.reserve(static_cast<std::size_t>(count) * names.size());
  for (const auto& name : names)
    for (const auto& range : ranges)
      for (auto value = range.first; value <= range.last; ++value)
        longer.push_back(name + padded(value, range.digits));
  names = std::move(longer);
}

}  // namespace

std::string padded(std::int64_t value, std::size_t digits) {
  auto text = std::to_string(value);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

void expand_names(std::string_view text, std::size_t most, std::vector<std::string>& names) {
  if (text.empty() || text.size() > longest_text) not_names(text, "it is empty or too long");
  if (names.size() >= most) throw UsageError(shown(text) + " is one name more than are possible here");
  std::vector<std::string> made{""};
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto open = std::min(rest.size(), rest.find('['));
    check_plain(rest.substr(0, open), text);
    for (auto& name : made) name += rest.substr(0, open);
    rest.remove_prefix(open);
    if (rest.empty()) break;
    const auto close = rest.find(']');
    if (close == std::string_view::npos) not_names(text, "a bracket is not closed");
    multiply(made, ranges_of(rest.substr(1, close - 1), text), most - names.size(), text);
    rest.remove_prefix(close + 1);
  }
  names.insert(names.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
}

}  // namespace crosscut::networks
