// What the core and its player say to each other: a line of JSON asks for phases, a line of text and the
// samples answer. Both ends are of one build on one machine, so numbers travel as they lie in memory.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "program/program.hpp"
#include "smpi/smpi_options.hpp"

namespace crosscut::smpi {

struct SmpiBlock {
  std::string pattern;
  std::map<std::string, std::string> parameters;
  std::int64_t bytes = 0;
  std::int64_t phase_first = 0, phase_end = 0;  // of the pattern, from 0
  std::int64_t slots = 1;
  Overheads overheads;

  // [phase, rank]: the rank's seconds, then those of its slots.
  std::size_t width() const { return static_cast<std::size_t>(slots) + 1; }
  std::size_t doubles(Rank ranks) const {
    return static_cast<std::size_t>(phase_end - phase_first) * static_cast<std::size_t>(ranks) * width();
  }
};

// One line, with its newline.
std::string write_block(const SmpiBlock& block);
// Throws UsageError.
SmpiBlock parse_block(std::string_view line);

// First words of the player's lines. `ready VERSION` comes once, before any request; `samples` is followed by
// the bytes of as many doubles as the block has; `usage` and `failed` by why.
namespace smpi_says {
inline constexpr std::string_view ready = "ready ", samples = "samples", usage = "usage ", failed = "failed ";
}

}  // namespace crosscut::smpi
