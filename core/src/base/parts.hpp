// Cuts a whole into parts that differ by at most one, the longer ones first.
#pragma once

#include <algorithm>
#include <type_traits>

namespace crosscut {

// Returns where part `index` of `parts` begins; the whole ends where part `parts` would.
template <class Integer>
constexpr Integer begin_of_part(Integer whole, std::type_identity_t<Integer> parts,
                                std::type_identity_t<Integer> index) {
  return whole / parts * index + std::min(index, whole % parts);
}

}  // namespace crosscut
