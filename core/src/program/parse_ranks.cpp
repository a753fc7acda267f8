// Parses lists of ranks and of pairs. Commas or white space separate entries; "#" starts a comment that ends
// with the line.
#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"

namespace crosscut::program {
namespace {

constexpr std::size_t most_entries = std::size_t{1} << 20;  // "0-2000000000" must not fill the memory

std::vector<std::string_view> items(std::string_view text) {
  constexpr std::string_view separators = ", \t\r\n";
  std::vector<std::string_view> result;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(separators, at)) != std::string_view::npos) {
    if (text[at] == '#') {
      at = std::min(text.size(), text.find('\n', at));
      continue;
    }
    const auto end = std::min(text.size(), text.find_first_of(", \t\r\n#", at));
    result.push_back(text.substr(at, end - at));
    if (result.size() > most_entries)
      throw UsageError("the list has more than " + std::to_string(most_entries) + " entries");
    at = end;
  }
  return result;
}

std::int32_t rank_number(std::string_view word, std::string_view item) {
  std::int64_t value = -1;
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos && word.size() <= 10)
    value = parse_integer(word);
  if (value < 0 || value >= std::numeric_limits<std::int32_t>::max())
    throw UsageError(shown(word) + " in " + shown(item) +
                     " is not a rank; write numbers from 0, such as 0-1");
  return static_cast<std::int32_t>(value);
}

// Parses "7", or FIRST<mark>LAST with an optional ":STEP". Ranges may descend ("7..0") if `mark` is "..".
void append_range(std::string_view word, std::string_view mark, std::string_view item, RankList& ranks) {
  const auto at = word.find(mark);
  if (at == std::string_view::npos) {
    ranks.push_back(rank_number(word, item));
    return;
  }
  const std::string_view rest = word.substr(at + mark.size());
  const auto colon = rest.find(':');
  const std::int64_t first = rank_number(word.substr(0, at), item);
  const std::int64_t last = rank_number(rest.substr(0, colon), item);
  const std::int64_t step = colon == std::string_view::npos ? 1 : rank_number(rest.substr(colon + 1), item);
  if (step == 0) throw UsageError("the step in " + shown(item) + " is 0");
  const bool down = last < first;
  if (down && mark == "-")
    throw UsageError(shown(item) + " runs backwards; write " + std::to_string(last) + "-" +
                     std::to_string(first));
  const std::int64_t count = (down ? first - last : last - first) / step + 1;
  if (ranks.size() + static_cast<std::size_t>(count) > most_entries)
    throw UsageError(shown(item) + " makes a list of more than " + std::to_string(most_entries) + " ranks");
  for (std::int64_t i = 0; i < count; ++i)
    ranks.push_back(static_cast<std::int32_t>(down ? first - i * step : first + i * step));
}

void append_pairs(std::string_view item, PairList& pairs) {
  const auto dash = item.find('-');
  if (dash == std::string_view::npos || item.find('-', dash + 1) != std::string_view::npos)
    throw UsageError(shown(item) + " is not a pair; write 0-1, or 0..7-8..15 for eight pairs");
  RankList left;
  RankList right;
  append_range(item.substr(0, dash), "..", item, left);
  append_range(item.substr(dash + 1), "..", item, right);
  if (left.size() != right.size())
    throw UsageError(shown(item) + " pairs " + std::to_string(left.size()) + " ranks with " +
                     std::to_string(right.size()) + "; both sides need the same number");
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i])
      throw UsageError(shown(item) + " pairs rank " + std::to_string(left[i]) + " with itself");
    pairs.emplace_back(left[i], right[i]);
  }
}

}  // namespace

RankList parse_ranks(std::string_view text) {
  RankList ranks;
  for (const std::string_view item : items(text)) append_range(item, "-", item, ranks);
  if (ranks.empty()) throw UsageError("no rank in " + shown(text) + "; write 0,4,8-15 or 0-63:8");
  RankList sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw UsageError(std::to_string(*twice) + " is named twice in " + shown(text));
  return ranks;
}

PairList parse_pairs(std::string_view text) {
  PairList pairs;
  for (const std::string_view item : items(text)) {
    append_pairs(item, pairs);
    if (pairs.size() > most_entries)
      throw UsageError("the list has more than " + std::to_string(most_entries) + " pairs");
  }
  if (pairs.empty()) throw UsageError("no pair in " + shown(text) + "; write 0-1,2-3");
  PairList sorted = pairs;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw UsageError("pair " + std::to_string(twice->first) + "-" + std::to_string(twice->second) +
                     " is named twice");
  return pairs;
}

}  // namespace crosscut::program
