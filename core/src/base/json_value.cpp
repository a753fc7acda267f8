#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/error.hpp"
#include "base/json_members.hpp"
#include "base/utf8.hpp"

namespace crosscut::json {
namespace {

// The range is half-open because 2^63 is a double and the largest std::int64_t is not.
bool fits_integer(double value) { return value >= -0x1p63 && value < 0x1p63 && std::trunc(value) == value; }

}  // namespace

void Value::refuse(const char* expected) const {
  constexpr std::array kinds{"null",     "a boolean", "a number", "a number",
                             "a string", "an array",  "an object"};  // in the order of data_
  throw UsageError(std::string("expected ") + expected + ", found " + kinds[data_.index()]);
}

template <typename T>
const T& Value::as(const char* expected) const {
  if (const T* value = std::get_if<T>(&data_)) return *value;
  refuse(expected);
}

bool Value::boolean() const { return as<bool>("true or false"); }
const std::string& Value::string() const { return as<std::string>("a string"); }
const Array& Value::array() const { return as<Array>("an array"); }
const Object& Value::object() const { return as<Object>("an object"); }

std::int64_t Value::integer() const {
  if (const auto* value = std::get_if<double>(&data_)) {
    if (fits_integer(*value)) return static_cast<std::int64_t>(*value);
    throw UsageError("expected an integer, found " + write(*this));
  }
  return as<std::int64_t>("an integer");
}

double Value::number() const {
  if (is_integer()) return static_cast<double>(integer());
  return as<double>("a number");
}

const Value* Value::find(std::string_view key) const {
  const Object& members = object();
  const auto found = std::ranges::find(members, key, &Object::value_type::first);
  return found == members.end() ? nullptr : &found->second;
}

std::int64_t integer_within(const Value& value, std::int64_t least, std::int64_t most) {
  const std::int64_t number = value.integer();
  if (number < least || number > most)
    throw UsageError(std::to_string(number) + " is out of range; it must be from " + std::to_string(least) +
                     " to " + std::to_string(most));
  return number;
}

double real_within(const Value& value, double least, double most) {
  const double number = value.number();
  if (!(number >= least && number <= most))
    throw UsageError(write(value) + " is out of range; it must be from " +
                     (least == 0 ? "0" : write(Value(least))) + " to " + write(Value(most)));
  return number;
}

std::string plain_text(const Value& value) {
  if (value.string().find('\0') != std::string::npos) throw UsageError("text with a NUL character");
  return value.string();
}

const Value& Value::at(std::string_view key) const {
  if (const Value* value = find(key)) return *value;
  throw UsageError("missing member \"" + std::string(key) + "\"");
}

Value& Value::set(std::string_view key, Value value) {
  if (is_null()) data_ = Object{};
  if (Value* old = find(key)) return *old = std::move(value);
  return object().emplace_back(std::string(key), std::move(value)).second;
}

namespace {

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void value(const Value& value) {
    value.visit([this](const auto& data) { put(data); });
  }

  std::string take() { return std::move(text_); }

 private:
  void put(std::monostate) { text_ += "null"; }
  void put(bool value) { text_ += value ? "true" : "false"; }
  void put(std::int64_t value) { text_ += std::to_string(value); }

  // Writes the shortest text that reads back as the same double, and as a double.
  void put(double value) {
    if (!std::isfinite(value)) return put(std::monostate{});
    std::array<char, 32> buffer;
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    const std::string_view digits(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data()));
    text_ += digits;
    if (digits.find_first_of(".e") == std::string_view::npos) text_ += ".0";
  }

  // External text (host names, messages of the C library) need not be UTF-8, but JSON must be.
  void put(std::string_view value) {
    text_ += '"';
    while (!value.empty()) {
      const std::size_t length = utf8_length(value);
      if (length == 0) {
        text_ += "\xEF\xBF\xBD";  // U+FFFD, the replacement character
      } else if (length > 1) {
        text_ += value.substr(0, length);
      } else {
        character(value.front());
      }
      value.remove_prefix(std::max<std::size_t>(length, 1));
    }
    text_ += '"';
  }

  void character(char c) {
    constexpr std::string_view plain = "\"\\\b\f\n\r\t", escaped = "\"\\bfnrt";
    if (const std::size_t i = plain.find(c); i != std::string_view::npos) {
      text_ += '\\';
      text_ += escaped[i];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> buffer;
      std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned>(c));
      text_ += buffer.data();
    } else {
      text_ += c;
    }
  }

  // An array that contains no array or object stays on one line, for readability.
  void put(const Array& values) {
    const bool flat =
        std::ranges::none_of(values, [](const Value& v) { return v.is_array() || v.is_object(); });
    text_ += '[';
    ++depth_;
    for (std::size_t i = 0; i < values.size(); ++i) {
      separate(i, flat);
      value(values[i]);
    }
    --depth_;
    if (!flat) line();
    text_ += ']';
  }

  void put(const Object& members) {
    text_ += '{';
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      separate(i, false);
      put(members[i].first);
      text_ += ": ";
      value(members[i].second);
    }
    --depth_;
    if (!members.empty()) line();
    text_ += '}';
  }

  void separate(std::size_t index, bool flat) {
    if (index > 0) text_ += flat || indent_ == 0 ? ", " : ",";
    if (!flat) line();
  }

  void line() {
    if (indent_ == 0) return;
    text_ += '\n';
    text_.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth_), ' ');
  }

  int indent_;
  int depth_ = 0;
  std::string text_;
};

}  // namespace

std::string write(const Value& value, int indent) {
  Writer writer(indent);
  writer.value(value);
  return writer.take();
}

}  // namespace crosscut::json
