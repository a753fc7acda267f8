// All ranks' programs of one phase, matched and rehearsed without a clock (for check_program).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace crosscut::program {

using Programs = std::vector<std::vector<Op>>;  // [rank][operation]

// Both return an empty string, or the mistake and its place.

// Checks that the n-th send of each lane matches the n-th receive.
std::string check_matching(const Programs& programs);
// Checks that every operation completes under rendezvous, with ready operations posted in random order.
// Programs must match.
std::string check_completion(const Programs& programs, std::uint64_t seed);

std::string at_operation(Rank rank, std::size_t index, const std::string& problem);

}  // namespace crosscut::program
