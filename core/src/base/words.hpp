// Text of messages: user input made safe to print, and suggestions for misspelt names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace crosscut {

// Returns `text` in quotes, with control characters and non-ASCII bytes as \xNN, truncated to 80 bytes.
std::string shown(std::string_view text);

// Returns two lower-case hexadecimal digits for each byte.
std::string hex(std::span<const std::uint8_t> bytes);

// Returns a number of bytes in three digits, "2.15 GB", or "too many bytes" for what an overflow made
// negative.
std::string about_bytes(std::int64_t bytes);

// Returns the words with a separator between them.
template <typename Words>
std::string joined(const Words& words, std::string_view separator = ", ") {
  std::string text;
  bool is_first = true;
  for (const auto& word : words) {
    if (!std::exchange(is_first, false)) text += separator;
    text += word;
  }
  return text;
}

// Returns the parts of `text` between separators, including empty ones. They point into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

// Returns the names nearest to a misspelt one, "; did you mean aapc, pairs?", or all names if none is near,
// "; there are aapc, pairs". The semicolon lets callers append the text to any message. `all`: words in place
// of a list of all names, if that would be too long.
std::string suggestion(std::string_view wrong, std::span<const std::string_view> names,
                       std::string_view all = "");

// Returns the entry with this name. Throws UsageError suggesting the nearest known names if there is none.
template <typename Info>
const Info& find_named(std::span<const Info* const> all, std::string_view kind, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Info* info : all) {
    if (info->name == name) return *info;
    names.push_back(info->name);
  }
  throw UsageError("unknown " + std::string(kind) + " " + shown(name) + suggestion(name, names));
}

}  // namespace crosscut
