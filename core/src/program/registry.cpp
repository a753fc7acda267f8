#include "program/registry.hpp"

#include <array>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::patterns {
#define CROSSCUT_PATTERN(id) extern const program::PatternInfo pattern_##id;
#include "patterns/patterns.def"
#undef CROSSCUT_PATTERN
}  // namespace crosscut::patterns

namespace crosscut::program {

std::string_view name_of(PatternShape shape) {
  switch (shape) {
    case PatternShape::dense:
      return "dense";
    case PatternShape::sweep:
      return "sweep";
    case PatternShape::loaded:
      return "loaded";
    case PatternShape::victims:
      return "victims";
    case PatternShape::streams:
      return "streams";
  }
  return "dense";
}

std::string_view name_of(Evaluation evaluation) {
  switch (evaluation) {
    case Evaluation::none:
      return "";
    case Evaluation::at_shared_sizes:
      return "shared sizes";
    case Evaluation::at_own_sizes:
      return "own sizes";
  }
  return "";
}

std::span<const PatternInfo* const> patterns() {
#define CROSSCUT_PATTERN(id) &patterns::pattern_##id,
  static constexpr std::array all = {
#include "patterns/patterns.def"
  };
#undef CROSSCUT_PATTERN
  return all;
}

const PatternInfo& find_pattern(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PatternInfo* pattern : patterns()) {
    if (pattern->name == name) return *pattern;
    names.push_back(pattern->name);
  }
  throw UsageError("unknown pattern " + shown(name) + suggestion(name, names));
}

}  // namespace crosscut::program
