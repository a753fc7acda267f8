// Records exchanged as JSON objects: one table of members serves to read, check and write them.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"

namespace crosscut::json {

template <typename Record>
struct Member {
  std::string_view name;
  std::function<void(Record&, const Value&)> read;  // throws UsageError without the member's name
  std::function<Value(const Record&)> write;
};
template <typename Record>
using Members = std::vector<Member<Record>>;

// Converts a value; throws UsageError if it has another type.
template <typename T>
T from_json(const Value& value) {
  if constexpr (std::same_as<T, bool>) {
    return value.boolean();
  } else if constexpr (std::is_floating_point_v<T>) {
    return value.number();
  } else if constexpr (std::convertible_to<const std::string&, T>) {
    return value.string();
  } else {
    T list;
    for (const Value& item : value.array()) list.push_back(from_json<typename T::value_type>(item));
    return list;
  }
}

template <typename T>
Value to_json(const T& value) {
  if constexpr (std::is_constructible_v<Value, const T&>) {
    return value;
  } else if constexpr (std::integral<T>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? to_json(*value) : Value();
  } else if constexpr (requires { typename T::mapped_type; }) {
    return Object(value.begin(), value.end());
  } else if constexpr (requires { value.first; }) {
    return Array{value.first, value.second};
  } else {
    return Array(value.begin(), value.end());
  }
}

std::int64_t integer_within(const Value& value, std::int64_t least, std::int64_t most);
double real_within(const Value& value, double least, double most);
// Reads text without a NUL, which would silently cut a path short on its way into the operating system.
std::string plain_text(const Value& value);

// Returns a reader of whole numbers from `least` to `most`.
inline auto within(std::int64_t least, std::int64_t most) {
  return [=](const Value& value) { return integer_within(value, least, most); };
}

// Returns a reader of a list of such numbers.
template <typename T>
auto list_within(std::int64_t least, std::int64_t most) {
  return [=](const Value& value) {
    std::vector<T> list;
    for (const Value& item : value.array()) list.push_back(static_cast<T>(integer_within(item, least, most)));
    return list;
  };
}

// Describes the member kept in `field`. `read` and `write` convert it where the conversions above do not
// suffice.
template <typename Record, typename T>
Member<Record> member(std::string_view name, T Record::*field,
                      const std::function<std::type_identity_t<T>(const Value&)>& read = from_json<T>,
                      const std::function<Value(const std::type_identity_t<T>&)>& write = to_json<T>) {
  return {name, [=](Record& record, const Value& value) { record.*field = read(value); },
          [=](const Record& record) { return write(record.*field); }};
}

// Reads an object into `record`; members absent from the object keep their value. Throws UsageError naming
// `what` and the invalid or unknown member.
template <typename Record>
void read_members(Record& record, const Value& value, const Members<Record>& members,
                  const std::string& what) {
  if (!value.is_object()) throw UsageError(what + ": expected an object");
  for (const auto& [name, given] : value.object()) {
    const auto known = std::ranges::find(members, name, &Member<Record>::name);
    if (known == members.end()) throw UsageError(what + " has no member " + write(Value(name)));
    try {
      known->read(record, given);
    } catch (const UsageError& error) {
      throw UsageError(std::string(what).append(", `").append(name).append("`: ").append(error.what()));
    }
  }
}

template <typename Record>
Object write_members(const Record& record, const Members<Record>& members) {
  Object object;
  for (const Member<Record>& member : members)
    object.emplace_back(std::string(member.name), member.write(record));
  return object;
}

}  // namespace crosscut::json
