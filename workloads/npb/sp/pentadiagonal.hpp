// The systems of SP (RNR-94-007, section 3): along a line three with five diagonals. The first belongs to
// what the flow carries, three of the five characteristic variables; the others to sound that runs with it
// and against it.
#pragma once

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/lines.hpp"
#include "npb/multipartition/sweep.hpp"

namespace crosscut::npb::sp {

using namespace multipartition;

struct Pentadiagonal {
  static constexpr Index carried = 2;
  static constexpr std::size_t uppers = 6;  // two of each system
  static constexpr bool room = false;
  using SystemRow = Row<uppers>;

  static void eliminate(const Block& block, const Bundle& bundle, const Lines& lines, SystemRow* rows);
  static void substitute(const Lines& lines, SystemRow* rows);
  static void store(Block& block, const Bundle& bundle, const Lines& lines, SystemRow* rows);
};

}  // namespace crosscut::npb::sp
