#include "program/registry.hpp"

#include <array>

#include "base/words.hpp"

namespace crosscut::patterns {
#define CROSSCUT_PATTERN(id) extern const program::PatternInfo pattern_##id;
#include "patterns/patterns.def"
#undef CROSSCUT_PATTERN
}  // namespace crosscut::patterns

namespace crosscut::program {

std::span<const PatternInfo* const> patterns() {
#define CROSSCUT_PATTERN(id) &patterns::pattern_##id,
  static constexpr std::array all = {
#include "patterns/patterns.def"
  };
#undef CROSSCUT_PATTERN
  return all;
}

const PatternInfo& find_pattern(std::string_view name) { return find_named(patterns(), "pattern", name); }

}  // namespace crosscut::program
