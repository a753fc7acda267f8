#include "program/list.hpp"

#include <array>
#include <cmath>

#include "networks/generator.hpp"
#include "program/registry.hpp"

namespace crosscut::program {
namespace {

// In the order of Parameter::Kind.
constexpr std::array kind_names{"integer", "real",   "bytes", "seconds", "rate",
                                "boolean", "choice", "ranks", "pairs",   "text"};

// Writes a whole limit as 1 rather than 1.0.
json::Value limit(double value) {
  constexpr double exact = 9.007199254740992e15;  // 2^53
  const bool whole = std::trunc(value) == value && std::fabs(value) <= exact;
  return whole ? json::Value(static_cast<std::int64_t>(value)) : json::Value(value);
}

json::Value describe(const Parameter& parameter) {
  json::Array choices(parameter.choices.begin(), parameter.choices.end());
  const bool limited = parameter.kind <= Parameter::Kind::rate;
  return json::Object{{"name", parameter.name},
                      {"kind", kind_names[static_cast<std::size_t>(parameter.kind)]},
                      {"unit", parameter.unit},
                      {"default", parameter.initial},
                      {"help", parameter.help},
                      {"choices", std::move(choices)},
                      {"minimum", limited ? limit(parameter.minimum) : json::Value()},
                      {"maximum", limited ? limit(parameter.maximum) : json::Value()}};
}

json::Value describe(std::span<const Parameter> parameters) {
  json::Array list;
  for (const Parameter& parameter : parameters) list.push_back(describe(parameter));
  return list;
}

json::Value describe(const PatternInfo& pattern) {
  return json::Object{{"name", pattern.name},
                      {"summary", pattern.summary},
                      {"answers", pattern.answers},
                      {"formula", pattern.formula},
                      {"source", pattern.source},
                      {"formula_per", pattern.formula_per},
                      {"shape", name_of(pattern.shape)},
                      {"findings", pattern.findings},
                      {"latency", pattern.latency},
                      {"halves", pattern.halves},
                      {"evaluation", name_of(pattern.evaluation)},
                      {"window", pattern.window},
                      {"parameters", describe(pattern.parameters)}};
}

json::Value describe(const BackendInfo& backend) {
  return json::Object{{"name", backend.name},
                      {"summary", backend.summary},
                      {"live", backend.live},
                      {"tolerates_failure", backend.tolerates_failure},
                      {"lossy", backend.lossy},
                      {"collectives", backend.collectives},
                      {"rails", backend.rails},
                      {"over_mpi", backend.over_mpi},
                      {"available", backend.why_unavailable().empty()},
                      {"unavailable", backend.why_unavailable()},
                      {"parameters", describe(backend.parameters)}};
}

json::Value describe(const networks::GeneratorInfo& generator) {
  return json::Object{{"name", generator.name},
                      {"summary", generator.summary},
                      {"source", generator.source},
                      {"parameters", describe(generator.parameters)}};
}

}  // namespace

json::Value describe() {
  json::Array pattern_list, backend_list, generator_list;
  for (const PatternInfo* pattern : patterns()) pattern_list.push_back(describe(*pattern));
  for (const BackendInfo* backend : backends()) backend_list.push_back(describe(*backend));
  for (const networks::GeneratorInfo* generator : networks::all_generators())
    generator_list.push_back(describe(*generator));
  return json::Object{{"version", CROSSCUT_VERSION},
                      {"patterns", std::move(pattern_list)},
                      {"backends", std::move(backend_list)},
                      {"generators", std::move(generator_list)}};
}

}  // namespace crosscut::program
