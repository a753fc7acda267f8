// All ranks' programs of one phase, matched and rehearsed without a clock (for check_program).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace crosscut::program {

using Programs = std::vector<std::vector<Op>>;  // [rank][operation]

// Both: empty when fine, else what is wrong and where.

// The n-th send of each lane meets the n-th receive; they agree.
std::string check_matching(const Programs& programs);
// Rendezvous, ready operations posted in random order: does everything complete? Programs must match.
std::string check_completion(const Programs& programs, std::uint64_t seed);

std::string at_operation(Rank rank, std::size_t index, const std::string& problem);

}  // namespace crosscut::program
