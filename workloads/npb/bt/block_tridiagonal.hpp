// The systems of BT (RNR-94-007, section 3): along a line one with three diagonals of 5 x 5 blocks.
#pragma once

#include "npb/multipartition/block.hpp"
#include "npb/multipartition/lines.hpp"
#include "npb/multipartition/sweep.hpp"

namespace crosscut::npb::bt {

using namespace multipartition;

struct BlockTridiagonal {
  static constexpr Index carried = 1;
  // The block right of the diagonal, by rows.
  static constexpr std::size_t uppers = std::size_t{components} * components;
  static constexpr bool room = true;
  using SystemRow = Row<uppers>;

  static void eliminate(const Block& block, const Bundle& bundle, const Lines& lines, SystemRow* rows);
  static void substitute(const Lines& lines, SystemRow* rows);
  static void store(Block& block, const Bundle& bundle, const Lines& lines, SystemRow* rows);
};

}  // namespace crosscut::npb::bt
