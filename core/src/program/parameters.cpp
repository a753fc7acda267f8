#include "program/parameters.hpp"

#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::program {
namespace {

std::string plain_number(double value) {
  std::ostringstream text;
  text.precision(16);
  text << value;
  return text.str();
}

void check_range(const Parameter& parameter, double value, std::string_view text) {
  if (value >= parameter.minimum && value <= parameter.maximum) return;
  const std::string unit = parameter.unit.empty() ? "" : " " + std::string(parameter.unit);
  throw UsageError(shown(text) + " is out of range; it must be from " + plain_number(parameter.minimum) +
                   " to " + plain_number(parameter.maximum) + unit);
}

void check_choice(const Parameter& parameter, std::string_view text) {
  if (std::ranges::find(parameter.choices, text) == parameter.choices.end())
    throw UsageError(shown(text) + " is not a choice" + suggestion(text, parameter.choices));
}

const Parameter& find_known(std::span<const Parameter> known, const std::string& name,
                            std::string_view owner) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : known) {
    if (parameter.name == name) return parameter;
    names.push_back(parameter.name);
  }
  throw UsageError(std::string(owner) + " has no parameter " + shown(name) + suggestion(name, names));
}

// An undeclared parameter is a mistake in a pattern or backend, not in the input.
const std::string& value_of(const std::map<std::string, std::string>& values, std::string_view name) {
  const auto found = values.find(std::string(name));
  if (found == values.end()) throw std::logic_error("undeclared parameter " + std::string(name));
  return found->second;
}

const std::string& required(const std::map<std::string, std::string>& values, std::string_view name) {
  const std::string& text = value_of(values, name);
  if (text.empty()) throw UsageError("--" + std::string(name) + " has no value");
  return text;
}

}  // namespace

void check_value(const Parameter& parameter, std::string_view text) {
  // An empty value is valid if the default is empty; lists and text may always be empty.
  if (text.empty() && parameter.initial.empty()) return;
  switch (parameter.kind) {
    case Parameter::Kind::integer:
      return check_range(parameter, static_cast<double>(parse_integer(text)), text);
    case Parameter::Kind::real:
      return check_range(parameter, parse_real(text), text);
    case Parameter::Kind::bytes:
      return check_range(parameter, static_cast<double>(parse_bytes(text)), text);
    case Parameter::Kind::seconds:
      return check_range(parameter, parse_seconds(text), text);
    case Parameter::Kind::rate:
      return check_range(parameter, parse_rate(text), text);
    case Parameter::Kind::boolean:
      return static_cast<void>(parse_boolean(text));
    case Parameter::Kind::choice:
      return check_choice(parameter, text);
    case Parameter::Kind::ranks:
      if (!text.empty()) static_cast<void>(parse_ranks(text));
      return;
    case Parameter::Kind::pairs:
      if (!text.empty()) static_cast<void>(parse_pairs(text));
      return;
    case Parameter::Kind::text:
      return;
  }
}

Parameters::Parameters(std::span<const Parameter> known, const std::map<std::string, std::string>& given,
                       std::string_view owner) {
  for (const auto& [name, value] : given) {
    const Parameter& parameter = find_known(known, name, owner);
    try {
      check_value(parameter, value);
      values_[name] = value;
    } catch (const UsageError& error) {
      throw UsageError(std::string(owner) + ": --" + name + ": " + error.what());
    }
    given_.push_back(name);
  }
  for (const Parameter& parameter : known) {
    check_value(parameter, parameter.initial);
    values_.emplace(parameter.name, parameter.initial);
  }
}

std::int64_t Parameters::integer(std::string_view name) const {
  const std::string& text = required(values_, name);
  const bool has_unit = text.find_first_of(".BKMGTk") != std::string::npos;
  return has_unit ? parse_bytes(text) : parse_integer(text);
}

double Parameters::real(std::string_view name) const {
  const std::string& text = required(values_, name);
  if (text.ends_with("/s")) return parse_rate(text);
  const bool has_unit = text.find_first_of("smnuh") != std::string::npos;
  return has_unit ? parse_seconds(text) : parse_real(text);
}

bool Parameters::boolean(std::string_view name) const { return parse_boolean(value_of(values_, name)); }

const std::string& Parameters::text(std::string_view name) const { return value_of(values_, name); }

RankList Parameters::ranks(std::string_view name) const {
  const std::string& text = value_of(values_, name);
  return text.empty() ? RankList{} : parse_ranks(text);
}

PairList Parameters::pairs(std::string_view name) const {
  const std::string& text = value_of(values_, name);
  return text.empty() ? PairList{} : parse_pairs(text);
}

bool Parameters::given(std::string_view name) const {
  return std::find(given_.begin(), given_.end(), name) != given_.end();
}

}  // namespace crosscut::program
