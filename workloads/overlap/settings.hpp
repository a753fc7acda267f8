// What the command line says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/arguments.hpp"

namespace crosscut::overlap {

// Who sends to whom; routes.hpp.
enum class Pattern : std::uint8_t { ring, pairs, forward, bystander };
inline constexpr std::array<std::string_view, 4> pattern_words{"ring", "pairs", "forward", "bystander"};

struct Settings {
  Pattern pattern = Pattern::ring;
  std::vector<std::int64_t> sizes;  // bytes, multiples of 8
  std::int64_t exchanges = 0;       // of each size
  double work = 1;                  // computing for each exchange, in times that the exchange alone takes
  std::int64_t slice_microseconds = 20;  // of computing between two questions to MPI
};

void set_class(Settings& settings, npb::ProblemClass problem_class);
void declare(Settings& settings, program::Arguments& arguments);
// Why so many ranks cannot run these; empty where they can.
std::string unsuitable(const Settings& settings, int ranks);

}  // namespace crosscut::overlap
