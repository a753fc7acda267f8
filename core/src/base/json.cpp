#include "base/json.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace crosscut::json {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Recursive descent; Limits::depth bounds the recursion.
class Parser {
 public:
  Parser(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}

  Value document() {
    Value result = value(0);
    skip_space();
    if (position_ != text_.size()) fail("text after the end of the value");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { fail_at(position_, problem); }

  [[noreturn]] void fail_at(std::size_t position, const std::string& problem) const {
    const std::string_view before = text_.substr(0, position);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    const auto column = std::ranges::count_if(before.substr(line_start), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;  // characters, not bytes
    });
    throw UsageError("line " + std::to_string(line) + ", column " + std::to_string(column + 1) + ": " +
                     problem);
  }

  bool at_end() const { return position_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }

  bool accept(char c) {
    if (at_end() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void skip_space() {
    while (!at_end() && std::string_view(" \t\n\r").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }

  Value value(int depth) {
    skip_space();
    if (++values_ > limits_.values) fail("more than " + std::to_string(limits_.values) + " values");
    if (at_end()) fail("expected a value, found the end");
    switch (peek()) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case '"':
        return string();
      case 't':
        return literal("true", true);
      case 'f':
        return literal("false", false);
      case 'n':
        return literal("null", nullptr);
      default:
        return number();
    }
  }

  Value literal(std::string_view word, Value meaning) {
    if (text_.substr(position_, word.size()) != word) fail("expected a value");
    position_ += word.size();
    return meaning;
  }

  void check_depth(int depth) const {
    if (depth > limits_.depth) fail("nested more than " + std::to_string(limits_.depth) + " levels deep");
  }

  Value array(int depth) {
    check_depth(depth);
    ++position_;
    Array values;
    skip_space();
    if (accept(']')) return values;
    do {
      values.push_back(value(depth));
      skip_space();
    } while (accept(','));
    if (!accept(']')) fail("expected ',' or ']'");
    return values;
  }

  Value object(int depth) {
    check_depth(depth);
    ++position_;
    Object members;
    std::set<std::string> seen;  // a linear search would make a hostile object quadratic
    skip_space();
    if (accept('}')) return members;
    do {
      skip_space();
      const std::size_t start = position_;
      if (peek() != '"') fail("expected a key in double quotes");
      std::string key = string();
      if (!seen.insert(key).second) fail_at(start, "duplicate key " + write(key));
      skip_space();
      if (!accept(':')) fail("expected ':'");
      members.emplace_back(std::move(key), value(depth));
      skip_space();
    } while (accept(','));
    if (!accept('}')) fail("expected ',' or '}'");
    return members;
  }

  std::string string() {
    const std::size_t start = position_++;
    std::string result;
    while (!accept('"')) {
      if (at_end()) fail_at(start, "this string has no end");
      const char c = text_[position_];
      if (c == '\\') {
        ++position_;
        escape(result);
      } else if (static_cast<unsigned char>(c) < 0x20) {
        fail("a control character in a string must be escaped");
      } else {
        const std::size_t length = utf8_length(text_.substr(position_));
        if (length == 0) fail("not UTF-8");
        result += text_.substr(position_, length);
        position_ += length;
      }
    }
    return result;
  }

  void escape(std::string& result) {
    constexpr std::string_view escaped = "\"\\/bfnrt", meaning = "\"\\/\b\f\n\r\t";
    if (accept('u')) {
      append_utf8(result, code_point());
      return;
    }
    const std::size_t i = at_end() ? std::string_view::npos : escaped.find(peek());
    if (i == std::string_view::npos) fail("unknown escape in a string");
    ++position_;
    result += meaning[i];
  }

  std::uint32_t code_point() {
    const std::size_t start = position_ - 2;
    const std::uint32_t first = hex4();
    if (first < 0xD800 || first >= 0xE000) return first;
    if (first >= 0xDC00 || !accept('\\') || !accept('u')) fail_at(start, "half of a surrogate pair");
    const std::uint32_t second = hex4();
    if (second < 0xDC00 || second >= 0xE000) fail_at(start, "half of a surrogate pair");
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }

  std::uint32_t hex4() {
    const std::string_view digits = text_.substr(position_, 4);
    std::uint32_t code = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || result.ptr != digits.data() + 4)
      fail("expected four hexadecimal digits after \\u");
    position_ += 4;
    return code;
  }

  void skip_digits(const char* problem) {
    if (!is_digit(peek())) fail(problem);
    while (is_digit(peek())) ++position_;
  }

  Value number() {
    const std::size_t start = position_;
    const bool negative = accept('-');
    if (!is_digit(peek())) fail(negative ? "expected a digit" : "expected a value");
    if (!accept('0')) skip_digits("expected a digit");
    bool integral = true;
    if (accept('.')) {
      integral = false;
      skip_digits("expected a digit after '.'");
    }
    if (accept('e') || accept('E')) {
      integral = false;
      if (!accept('+')) accept('-');
      skip_digits("expected a digit in the exponent");
    }
    const std::string_view digits = text_.substr(start, position_ - start);
    return integral ? Value(convert<std::int64_t>(digits, start)) : Value(convert<double>(digits, start));
  }

  template <typename T>
  T convert(std::string_view digits, std::size_t start) const {
    T result{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (error != std::errc{} || end != digits.data() + digits.size()) fail_at(start, "number out of range");
    return result;
  }

  std::string_view text_;
  const Limits& limits_;
  std::size_t position_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

Value parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.bytes)
    throw UsageError("JSON of " + std::to_string(text.size()) + " bytes; at most " +
                     std::to_string(limits.bytes) + " are read");
  return Parser(text, limits).document();
}

}  // namespace crosscut::json
