#include "networks/toml_tree.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace crosscut::networks {
namespace {
struct AssertionFailed {};  // of toml++, about its input
[[noreturn]] void fail_assertion() { throw AssertionFailed{}; }
}  // namespace
}  // namespace crosscut::networks

// toml++ asserts its assumptions about the input; "[# All" breaks one (3.3, parse_key), and with NDEBUG the
// compiler may rely on it. Here a failed assertion rejects the input like any other error.
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? void() : crosscut::networks::fail_assertion())
#include <toml++/toml.h>

namespace crosscut::networks {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr int deepest = 8;              // [[links]] with an array in it needs 4
constexpr std::size_t most_dots = 512;  // "a.a.a...": each makes a table in a table

[[noreturn]] void refuse(const std::string& path, std::size_t line, const std::string& what) {
  throw UsageError(path + ":" + std::to_string(line) + ": " + what);
}

// toml++ detects bad bytes, but reports line 1.
void check_utf8(std::string_view text, const std::string& path) {
  std::size_t line = 1;
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0) refuse(path, line, "contains bytes that are not UTF-8; save the file as UTF-8");
    line += text.front() == '\n' ? 1 : 0;
    text.remove_prefix(length);
  }
}

// Returns where the string ends whose opening quotation mark is at `at`. Three marks open a string of several
// lines, whose content may itself end with up to two.
std::size_t end_of_text(std::string_view text, std::size_t at) {
  const char mark = text[at];
  const std::string three(3, mark);
  const bool has_lines = text.substr(at).starts_with(three);
  for (auto i = at + (has_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && mark == '"') {
      ++i;  // skips the escaped character
    } else if (!has_lines && (text[i] == mark || text[i] == '\n')) {
      return text[i] == mark ? i + 1 : i;
    } else if (has_lines && text.substr(i).starts_with(three)) {
      const auto rest = text.substr(i + 3, 2);
      return i + 3 + std::min(rest.find_first_not_of(mark), rest.size());
    }
  }
  return text.size();
}

// toml++ bounds nested brackets, but not keys with many dots.
void check_keys(std::string_view text, const std::string& path) {
  if (text.size() > most_bytes) refuse(path, 1, "the file is larger than 16 MiB");
  std::size_t line = 1, dots = 0;
  bool in_key = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      dots = 0;
      in_key = true;
    } else if (c == '"' || c == '\'') {
      const auto end = end_of_text(text, i);
      line += static_cast<std::size_t>(std::ranges::count(text.substr(i, end - i), '\n'));
      i = end - 1;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '=') {
      in_key = false;
    } else if (c == '{' || c == ',') {
      in_key = true;  // an inline table has keys too
      dots = 0;
    } else if (c == '.' && in_key && ++dots > most_dots) {
      refuse(path, line, "a key has more than " + std::to_string(most_dots) + " parts");
    }
  }
}

bool fails_assertion(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const toml::parse_error&) {
    return false;  // rejected by the parser's own rules
  } catch (const AssertionFailed&) {
    return true;
  }
  return false;
}

// The parser reads from front to back, so the shortest prefix that fails the assertion ends with the faulty
// line.
std::size_t line_of_failed_assertion(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') ends.push_back(i);
  ends.push_back(text.size());
  const auto fine = [&](std::size_t end) { return !fails_assertion(text.substr(0, end)); };
  const auto first = std::partition_point(ends.begin(), ends.end(), fine);
  return static_cast<std::size_t>(first - ends.begin()) + 1;
}

// A string without its closing quotation mark ends with the line or the file; toml++ then reports an invalid
// character or the end of the file.
bool is_open_text(std::string_view text, std::size_t line, std::string_view said) {
  constexpr auto nowhere = std::string_view::npos;
  if (said.find("control characters") == nowhere && said.find("end-of-file") == nowhere) return false;
  for (; line > 1 && !text.empty(); --line) text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  return std::ranges::count(text.substr(0, text.find('\n')), '"') % 2 == 1;
}

int line_of(const toml::node& node) { return std::max(1, static_cast<int>(node.source().begin.line)); }

TomlNode converted(const toml::node& node, const std::string& path, int depth) {
  TomlNode result;
  result.line = line_of(node);
  if (depth > deepest)
    refuse(path, static_cast<std::size_t>(result.line),
           "tables and arrays are nested more than " + std::to_string(deepest) + " deep");
  if (const auto* table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      result.members.push_back({std::string(key.str()), converted(value, path, depth + 1)});
      // A value has its own position; people look for the key's.
      if (!value.is_table() && !value.is_array())
        result.members.back().value.line = std::max(1, static_cast<int>(key.source().begin.line));
    }
    std::ranges::stable_sort(result.members, {}, [](const auto& member) { return member.value.line; });
  } else if (const auto* array = node.as_array()) {
    result.kind = TomlNode::Kind::array;
    for (const auto& value : *array) result.items.push_back(converted(value, path, depth + 1));
  } else if (const auto* text = node.as_string()) {
    result.kind = TomlNode::Kind::text;
    result.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    result.kind = TomlNode::Kind::integer;
    result.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    result.kind = TomlNode::Kind::real;
    result.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    result.kind = TomlNode::Kind::boolean;
    result.boolean = boolean->get();
  } else {
    result.kind = TomlNode::Kind::date;
  }
  return result;
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

std::string_view kind_word(TomlNode::Kind kind) {
  static constexpr std::array<std::string_view, 7> words{
      "true or false", "a whole number", "a number", "text", "a list", "a table", "a date"};
  return words[static_cast<std::size_t>(kind)];
}

TomlNode read_toml(std::string_view text, const std::string& path) {
  check_keys(text, path);
  check_utf8(text, path);
  try {
    return converted(toml::parse(text, path), path, 0);
  } catch (const toml::parse_error& error) {
    const auto line = std::max<std::size_t>(1, error.source().begin.line);
    if (is_open_text(text, line, error.description()))
      refuse(path, line, "the text that begins on this line is not closed; end it with a quotation mark");
    refuse(path, line, std::string(error.description()));
  } catch (const AssertionFailed&) {
    refuse(path, line_of_failed_assertion(text), "this is not valid TOML");
  }
}

}  // namespace crosscut::networks
