#include "base/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <numeric>

namespace crosscut {
namespace {

// Returns the Levenshtein distance; ignores case and takes '_' for '-': users write "Simple_Pairwise".
std::size_t distance(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (plain(a[i]) == plain(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string about_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 7> units{"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 0) return "too many bytes";
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5; value /= 1000) ++unit;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ", value);
  return text.data() + std::string(units.at(unit));
}

std::string shown(std::string_view text) {
  constexpr std::size_t shown_at_most = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, shown_at_most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      result += c;
    else
      result += "\\x" + hex({&byte, 1});
  }
  if (text.size() > shown_at_most) result += "...";
  return result + '"';
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text.append({digits[byte >> 4], digits[byte & 15]});
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; (end = text.find(separator)) != std::string_view::npos;
       text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

std::string suggestion(std::string_view wrong, std::span<const std::string_view> names,
                       std::string_view all) {
  constexpr std::size_t longest_name = 64;  // bounds the work that hostile input can cause
  std::vector<std::string_view> near;
  if (wrong.size() <= longest_name) {
    for (const std::string_view name : names) {
      const bool part = wrong.size() >= 3 && name.find(wrong) != std::string_view::npos;
      if (part || distance(wrong, name) <= std::clamp<std::size_t>(name.size() / 2, 2, 3))
        near.push_back(name);
    }
  }
  std::stable_sort(near.begin(), near.end(), [&](std::string_view a, std::string_view b) {
    return distance(wrong, a) < distance(wrong, b);
  });
  if (near.size() > 3) near.resize(3);
  if (!near.empty()) return "; did you mean " + joined(near) + "?";
  if (names.empty()) return "; there are none";
  return "; " + (all.empty() ? "there are " + joined(names) : std::string(all));
}

}  // namespace crosscut
