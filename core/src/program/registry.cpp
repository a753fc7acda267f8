#include "registry.hpp"

#include <array>

#include "error.hpp"
#include "words.hpp"

namespace crosscut {

namespace registered {
#define CROSSCUT_PATTERN(id) extern const PatternInfo pattern_##id;
#include "patterns/patterns.def"
#undef CROSSCUT_PATTERN
}  // namespace registered

std::span<const PatternInfo* const> patterns() {
#define CROSSCUT_PATTERN(id) &registered::pattern_##id,
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

}  // namespace crosscut
