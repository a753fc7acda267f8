// Checksums of the classes as they are. The model is in whole numbers and its chance comes from the seed, so
// that every machine and every number of ranks must find the same. Recorded from one rank; workloads/tests
// holds the model against another one, written plainly.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "npb/common/problem_class.hpp"
#include "traffic/scenario.hpp"

namespace crosscut::traffic {

// To what a double holds exactly, and a person can read. Of an exclusive or it is that of the
// parts.
constexpr std::uint64_t folded(std::uint64_t checksum) {
  constexpr int bits = 40;
  return (checksum ^ (checksum >> bits)) & ((std::uint64_t{1} << bits) - 1);
}

// 0: not recorded.
inline constexpr npb::PerClass<std::uint64_t> everyday_checksums{
    {274'962'773'629, 380'619'904'868, 269'600'589'443, 0, 0}};
inline constexpr npb::PerClass<std::uint64_t> bottleneck_checksums{
    {254'395'350, 747'061'110'847, 676'422'594'573, 251'426'191'828, 0}};

inline std::optional<std::uint64_t> known_checksum(Shape shape, npb::ProblemClass problem_class) {
  const auto& known = shape == Shape::everyday ? everyday_checksums : bottleneck_checksums;
  return known[problem_class] == 0 ? std::nullopt : std::optional(known[problem_class]);
}

}  // namespace crosscut::traffic
