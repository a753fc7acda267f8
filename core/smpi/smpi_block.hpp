// Protocol between the core and its player: a line of JSON requests phases; a line of text and the samples
// answer it. Both ends come from one build on one machine, so doubles are sent in native byte order.
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
  std::int64_t window = 1;
  Overheads overheads;

  // Doubles per cell of [phase, rank]: the rank's seconds, then one for each slot.
  std::size_t width() const { return static_cast<std::size_t>(slots) + 1; }
  std::size_t doubles(Rank ranks) const {
    return static_cast<std::size_t>(phase_end - phase_first) * static_cast<std::size_t>(ranks) * width();
  }
};

// Returns one line, with its newline.
std::string write_block(const SmpiBlock& block);
// Throws UsageError.
SmpiBlock parse_block(std::string_view line);

// First words of the player's lines. `ready VERSION` is sent once, before any request. `samples` is followed
// by SmpiBlock::doubles() doubles as raw bytes. `usage` and `failed` are followed by the reason.
namespace smpi_says {
inline constexpr std::string_view ready = "ready ", samples = "samples", usage = "usage ", failed = "failed ";
}

}  // namespace crosscut::smpi
