// Strict JSON (RFC 8259) for jobs, events and the metadata of a run.
//
// Input is not trusted: depth and size are bounded, and duplicate keys, trailing text, invalid UTF-8 and
// numbers out of range are errors that name line and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace crosscut::json {

class Value;
using Array = std::vector<Value>;
// Keeps the order of insertion, because people read metadata too.
using Object = std::vector<std::pair<std::string, Value>>;

class Value {
 public:
  Value() = default;  // null
  Value(std::nullptr_t) {}
  Value(bool value) : data_(value) {}
  Value(int value) : data_(static_cast<std::int64_t>(value)) {}
  Value(std::int64_t value) : data_(value) {}
  Value(std::uint64_t value) : data_(static_cast<std::int64_t>(value)) {}
  Value(double value) : data_(value) {}  // NaN and infinities are written as null
  Value(const char* value) : data_(std::string(value)) {}
  Value(std::string_view value) : data_(std::string(value)) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(Array value) : data_(std::move(value)) {}
  Value(Object value) : data_(std::move(value)) {}

  bool is_null() const { return data_.index() == 0; }
  bool is_object() const { return std::holds_alternative<Object>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(data_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_boolean() const { return std::holds_alternative<bool>(data_); }

  // Each throws UsageError ("expected a number, found an object") if the type differs.
  bool boolean() const;
  std::int64_t integer() const;  // an integral double is accepted
  double number() const;
  const std::string& string() const;
  const Array& array() const;
  const Object& object() const;
  Array& array() { return const_cast<Array&>(std::as_const(*this).array()); }
  Object& object() { return const_cast<Object&>(std::as_const(*this).object()); }

  // Access members of an object. If absent, `find` returns nullptr; `at` throws UsageError naming the key.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  const Value& at(std::string_view key) const;
  // Adds or replaces a member; turns null into an object.
  Value& set(std::string_view key, Value value);

  // Calls `visitor` with the std::monostate of null, bool, std::int64_t, double, std::string, Array or
  // Object.
  template <typename Visitor>
  void visit(Visitor&& visitor) const {
    std::visit(visitor, data_);
  }

  friend bool operator==(const Value&, const Value&) = default;

 private:
  [[noreturn]] void refuse(const char* expected) const;
  template <typename T>
  const T& as(const char* expected) const;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
};

struct Limits {
  std::size_t bytes = std::size_t{64} << 20;
  int depth = 64;
  std::size_t values = std::size_t{4} << 20;  // two bytes of text, "0,", take 40 bytes in memory
};

// Throws UsageError: "line 3, column 7: expected ',' or '}'".
Value parse(std::string_view text, const Limits& limits = {});

// Returns JSON text: on one line if `indent` is 0 (events, jobs), else on several, for people (metadata).
std::string write(const Value& value, int indent = 0);

}  // namespace crosscut::json
