// Problem sizes of the NAS Parallel Benchmarks: S (sample), W (workstation), A, B, C.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crosscut::npb {

enum class ProblemClass : std::uint8_t { S, W, A, B, C };

inline constexpr std::string_view class_letters = "SWABC";

inline char letter(ProblemClass problem_class) {
  return class_letters[static_cast<std::size_t>(problem_class)];
}

inline std::optional<ProblemClass> parse_class(std::string_view text) {
  const std::size_t at = text.size() == 1 ? class_letters.find(text[0]) : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<ProblemClass>(at);
}

// One value per class, in the order S, W, A, B, C.
template <typename T>
struct PerClass {
  std::array<T, class_letters.size()> values;

  const T& operator[](ProblemClass problem_class) const {
    return values[static_cast<std::size_t>(problem_class)];
  }
};

}  // namespace crosscut::npb
