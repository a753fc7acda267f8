// Every parser of a value that a person types. The first byte selects one.
#include <algorithm>
#include <cmath>

#include "base/words.hpp"
#include "program/parameters.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

// Sorted, not put into a set: a list may have a million entries.
template <typename List>
bool each_once(List list) {
  std::ranges::sort(list);
  return !list.empty() && std::ranges::adjacent_find(list) == list.end();
}

// The parsers bound ranges of a hundred thousand and more, but under a sanitizer these take a second to sort;
// numbers that overflow have more digits.
bool makes_a_long_list(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++digits;
      continue;
    }
    if (digits >= 6 && digits <= 9) return true;
    digits = 0;
  }
  return digits >= 6 && digits <= 9;
}

void sizes(std::string_view text) {
  const auto list = parse_sizes(text);
  hold(each_once(list), "each size is named once");
  hold(*std::ranges::min_element(list) >= 0, "sizes are not negative");
}

void ranks(std::string_view text) {
  if (makes_a_long_list(text)) return;
  const auto list = parse_ranks(text);
  hold(each_once(list), "each rank is named once");
  hold(*std::ranges::min_element(list) >= 0, "ranks are not negative");
}

void pairs(std::string_view text) {
  if (makes_a_long_list(text)) return;
  const auto list = parse_pairs(text);
  hold(each_once(list), "each pair is named once");
  for (const auto& [a, b] : list) hold(a >= 0 && b >= 0 && a != b, "two ranks make a pair");
}

void words(std::string_view text) {
  for (const char c : shown(text)) hold(c >= ' ' && c <= '~', "what is shown can be printed");
  const std::string_view names[] = {"aapc", "pairwise", "simple-pairwise"};
  hold(suggestion(text, names).starts_with("; "), "a suggestion can follow a message");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = text_of(data + 1, size - 1);
  accepts([&] {
    switch (data[0] % 9) {
      case 0:
        return hold(parse_bytes(text) >= 0, "bytes are not negative");
      case 1:
        return hold(std::isfinite(parse_seconds(text)) && parse_seconds(text) >= 0, "a duration is a number");
      case 2:
        return static_cast<void>(parse_integer(text));
      case 3:
        return hold(std::isfinite(parse_real(text)), "a number is finite");
      case 4:
        return ranks(text);
      case 5:
        return pairs(text);
      case 6:
        return sizes(text);
      case 7:
        return static_cast<void>(parse_boolean(text));
      default:
        return words(text);
    }
  });
  return 0;
}
