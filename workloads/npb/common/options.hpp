// The command line of every benchmark.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "npb/common/benchmark.hpp"

namespace crosscut::npb {

struct UsageProblem {
  std::string text;
};
struct HelpAsked {};

std::variant<Options, UsageProblem, HelpAsked> parse_options(std::span<const char* const> words,
                                                             bool takes_grid);

std::string usage(const Benchmark& about);

}  // namespace crosscut::npb
